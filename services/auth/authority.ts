/**
 * The authority: the service `auth`, which owns accounts, tokens and rules.
 *
 *     endpoints/  one file for each gRPC service; a change goes to the change log, and is
 *                 acknowledged when every guard has applied it
 *     login/      passwords, and the throttle for failed logins
 *     oauth/      the authorization server: clients, consent, grants and their tokens
 *     configuration/  all of it as a whole: read, planned and applied in one entry
 *     jwt/        issuers, trusts, and the JWTs that they accept
 *     people/     sign-in by issuers: which account a person is
 *     limits/     what authorities lend of limits of calls
 *     log/        the change log, the state computed from it, the clock, and the leases of guards
 */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { RESTRICTIONS } from "../../src/access/decide/restrictions.js";
import { ConfigError } from "../../src/config/setting.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import type { ConfiguredService } from "../../src/gen/portico/registry/v1/services.js";
import type { Service } from "../../src/rpc/service.js";
import { collectionOf } from "../../src/store/collection.js";
import { recordInstallation, recordInstallationId } from "../../src/store/installation.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { bootstrap, deletePasswordFileOnceChanged, type FirstStart, warnOfUnusedPassword } from "./bootstrap.js";
import { configurations } from "./configuration/configurations.js";
import { accounts } from "./endpoints/accounts.js";
import { audit } from "./endpoints/audit.js";
import { auth } from "./endpoints/auth.js";
import { delegation } from "./endpoints/delegation.js";
import { enrolments } from "./endpoints/enrolments.js";
import { KeyUses, keys } from "./endpoints/keys.js";
import { lending } from "./endpoints/lending.js";
import { limits } from "./endpoints/limits.js";
import { names } from "./endpoints/names.js";
import { namespaces } from "./endpoints/namespaces.js";
import { policy } from "./endpoints/policy.js";
import { refusals } from "./endpoints/refusals.js";
import { rules } from "./endpoints/rules.js";
import { usage } from "./endpoints/usage.js";
import { UsageWindow } from "./endpoints/usage-window.js";
import { GrpcNameOwners } from "./grpc-name-owners.js";
import { IssuerKeys } from "./jwt/issuer-keys.js";
import { issuers } from "./jwt/issuers.js";
import { Jwts } from "./jwt/jwts.js";
import { trusts } from "./jwt/trusts.js";
import { Lender } from "./limits/lender.js";
import { LenderList } from "./limits/lender-list.js";
import { SharedUses } from "./limits/shared-uses.js";
import { enrolLocally, enrolNew } from "./local-enrolment.js";
import { AuditKeeper, type AuditLimits } from "./log/audit/audit-keeper.js";
import { AuditLog } from "./log/audit/audit-log.js";
import { outputTo } from "./log/audit/audit-output.js";
import { ChangeLog } from "./log/changelog/change-log.js";
import { Changes } from "./log/changelog/changes.js";
import { Journal } from "./log/changelog/journal.js";
import { StoreWatch } from "./log/changelog/store-watch.js";
import { type LeaseRecords, LocalLeaseRecords } from "./log/leases/lease-records.js";
import { Leases } from "./log/leases/leases.js";
import { Reports } from "./log/leases/reports.js";
import { SharedLeaseRecords } from "./log/leases/shared-lease-records.js";
import { AuthorityClock, type Clocks, MACHINE_CLOCKS } from "./log/time/clock.js";
import { StoredTime } from "./log/time/stored-time.js";
import { Attempts, LoginThrottle } from "./login/attempts.js";
import { FailedLogins } from "./login/failed-logins.js";
import { pageSessions } from "./login/page-sessions.js";
import { isPassword, type PasswordCost, Passwords } from "./login/passwords.js";
import { type AuthorityMeasures, measuresOf } from "./measures.js";
import { clients } from "./oauth/clients.js";
import { grants } from "./oauth/grants.js";
import { oauth } from "./oauth/oauth.js";
import { IssuerSignIns } from "./people/issuer-sign-in.js";
import { StoredServices } from "./stored-services.js";

/** Options of `openAuthority`. */
export interface AuthorityOptions {
  /** The caller of `openAuthority` closes it, after the authority. */
  readonly store: KeyValueStore;
  /** Where the first start writes the administrator's password and the enrolment tokens. */
  readonly dataFolder: string;
  /** Services that may run on this machine in processes of their own. Default: none. */
  readonly services?: readonly string[] | undefined;
  /** First password of the account `admin`. Default: a random one. */
  readonly adminPassword?: string | undefined;
  /** Cost of hashing a password. Default: a safe one. Tests set a low one, to be fast. */
  readonly passwordCost?: PasswordCost | undefined;
  /** Maximum number of rules in a namespace. */
  readonly maxRules: number;
  /** How long a guard may decide after a ping, in milliseconds. */
  readonly leaseMs: number;
  /** The longest time that a call may be open, in milliseconds. Default: 90 s. */
  readonly maxCallMs?: number | undefined;
  readonly log: Logger;
  /**
   * Name of this authority in the logs of other authorities on the store. Default: the host name.
   */
  readonly name?: string | undefined;
  readonly clocks?: Clocks | undefined;
  /** How long audit records are stored, and their maximum size. Default: no limits. */
  readonly audit?: AuditLimits | undefined;
  /** Where the lines of the audit trail are written: a path, or `-`. Default: nowhere. */
  readonly auditLog?: string | undefined;
  /** Whether to trust the machine's clock even if the store or other clocks disagree. */
  readonly acceptTime?: boolean | undefined;
  /**
   * Whether a service also joins without an enrolment: in the authority's process, or by
   * configuration. Then it keeps its gRPC names when its last enrolment is deleted. Default: none
   * does.
   */
  readonly joinsOtherwise?: ((service: string) => boolean) | undefined;
  /**
   * Throws a StatusError for a service that the registry cannot follow. Default: it follows all.
   */
  readonly checkService?: ((service: ConfiguredService) => void) | undefined;
  /**
   * Rejects with a StatusError for a service that the registry follows, and could not serve: its
   * contract is read. Default: it serves all.
   */
  readonly checkServed?: ((service: ConfiguredService) => Promise<void>) | undefined;
}

const NO_LIMITS: AuditLimits = { retentionMs: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

/**
 * The warning for a start on another store than last time. If it is an old copy, the start
 * succeeds, but grants what was revoked later.
 */
const OTHER_STORE =
  "this is another store than at the last start. Unless it is that one moved, or copied since, changes are missing, and what " +
  "was revoked is valid again: then stop, and name the store before in PORTICO_STORE";

/** An open authority. */
export interface Authority {
  readonly service: Service;
  /** Identifies the installation. */
  readonly installationId: string;
  /** The administrator's first password, if no start has shown it. */
  readonly firstStart: FirstStart | undefined;
  /**
   * Ensures that `enrolment/<name>` in the data folder holds a valid enrolment token. Returns it.
   */
  enrol(name: string): Promise<string>;
  /** Asks guards of other processes to change to another authority, and accepts no new guards. */
  announceStop(): void;
  /** Which service each gRPC name belongs to. */
  readonly grpcNames: GrpcNameOwners;
  /** The services that join without an enrolment, by the log. */
  readonly serviceLog: StoredServices;
  /** How many authorities run on the store, including this one. */
  count(): number;
  /** Problems with the store or the clock that do not stop calls, in words for the operator. */
  errors(): string[];
  readonly measures: AuthorityMeasures;
  /** Writes everything that still waits to be written. */
  close(): Promise<void>;
}

/**
 * @throws {StoreError} when the store fails, or its content is damaged.
 * @throws {ConfigError} when the password is too short or too long.
 */
export async function openAuthority(options: AuthorityOptions): Promise<Authority> {
  const { store, dataFolder, adminPassword, log, clocks = MACHINE_CLOCKS } = options;
  if (adminPassword !== undefined) checkAdminPassword(adminPassword);
  const now = (): number => performance.now();
  const clock = new AuthorityClock({ clocks, log });
  const journal = await Journal.open({ log: new ChangeLog({ store, log }), logger: log, clock });
  // The store of one machine is used by one authority at a time, so it needs no name among others.
  const lenderId = store.mayBeStale ? randomUUID() : "";
  const { leases, leaseRecords, stopNotifying } = await openLeases(options, { journal, clock, lenderId, now });
  // After `openLeases`, which reads the clocks of other authorities from their lease records.
  const storedTime = new StoredTime({ rows: collectionOf(store, "time"), store, journal, clock });
  clock.start({ stored: await storedTime.read(), accept: options.acceptTime === true });
  const passwords = new Passwords(options.passwordCost);
  const firstStart = await setUp(options, { journal, passwords });
  const changes = new Changes({ journal, leases });
  const failedLogins = new FailedLogins({ journal, log });
  const attempts = new Attempts({ passwords, throttle: new LoginThrottle({ clock: clock.now }), failedLogins });
  const keyUses = new KeyUses({ journal, log });
  const window = new UsageWindow({ rows: collectionOf(store, "usage"), log, clock: clock.now });
  storedTime.open();
  const auditKeeper = keepAudit(options, journal, clock);
  const auditLog = writeAudit(options, journal, lenderId);
  const { lender, lenderList } = lend(options, { journal, leases, leaseRecords, lenderId, now });
  const uses = new SharedUses({ lender, journal, store, log });
  const stopping = new AbortController();
  const parts = { journal, leases, lender, uses, changes, passwords, attempts, keyUses, window, stopping, now };
  const service = serviceOf(options, parts);
  const close = async (): Promise<void> => {
    await lenderList.close();
    uses.close();
    lender.close();
    stopNotifying();
    await keyUses.flush();
    await window.write({ all: true });
    await Promise.all([failedLogins.close(), auditKeeper.close()]);
    await auditLog?.close();
    await journal.close();
    await Promise.all([storedTime.close(), leases.close()]);
  };
  return {
    service,
    installationId: journal.state.installationId,
    firstStart,
    enrol: (name) => enrolLocally(journal, dataFolder, name),
    grpcNames: new GrpcNameOwners(journal),
    serviceLog: new StoredServices({ journal, changes }),
    announceStop: () => {
      stopping.abort();
      lenderList.leave();
    },
    count: () => 1 + leaseRecords.others,
    errors: () =>
      [journal.refusals.error, clock.error, auditKeeper.error, auditLog?.error].filter((error) => error !== undefined),
    measures: measuresOf(journal, leases, failedLogins),
    close,
  };
}

interface Parts {
  readonly journal: Journal;
  readonly leases: Leases;
  readonly lender: Lender;
  readonly uses: SharedUses;
  readonly changes: Changes;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly keyUses: KeyUses;
  readonly window: UsageWindow;
  readonly stopping: AbortController;
  readonly now: () => number;
}

function serviceOf(options: AuthorityOptions, parts: Parts): Service {
  const { maxRules, log, clocks = MACHINE_CLOCKS } = options;
  const { joinsOtherwise = () => false, checkService = () => undefined } = options;
  const { checkServed = async () => undefined } = options;
  const { journal, leases, lender, uses, changes, passwords, attempts, keyUses, window, stopping, now } = parts;
  const issuerKeys = new IssuerKeys(clocks.elapsed);
  const jwts = new Jwts({ changes, keys: issuerKeys });
  const storeWatch = new StoreWatch({ log, now, stopping: stopping.signal });
  const signIns = new IssuerSignIns({ changes, keys: issuerKeys, log, elapsed: clocks.elapsed });
  return {
    name: "auth",
    descriptors: descriptorsOf("portico.auth.v1"),
    parts: [
      ...[auth({ changes, attempts, issuers: signIns }), pageSessions({ changes, attempts, issuers: signIns })],
      rules({ changes, maxRules, uses }),
      limits({ changes, uses }),
      lending(lender),
      accounts({ changes, passwords, attempts }),
      keys({ changes, keyUses }),
      namespaces({ changes, passwords }),
      enrolments({ changes, joinsOtherwise }),
      names({ changes }),
      ...[clients({ changes }), grants({ changes }), oauth({ changes, attempts, jwts, issuers: signIns })],
      ...[issuers({ changes }), trusts({ changes })],
      configurations({ changes, maxRules, checkService, checkServed }),
      audit({ changes, journal, stopping: stopping.signal }),
      ...[usage({ changes, window }), refusals({ changes })],
      policy({ journal, leases, storeWatch, keyUses, jwts, stopping: stopping.signal }),
      delegation({ journal, leases }),
    ],
  };
}

/** Lends what limits of calls allow, and keeps this authority in the list of lenders. */
function lend(
  { store, leaseMs, log, maxCallMs = DEFAULT_MAX_CALL_MS }: AuthorityOptions,
  parts: { journal: Journal; leases: Leases; leaseRecords: LeaseRecords; lenderId: string; now: () => number },
): { lender: Lender; lenderList: LenderList } {
  const { journal, leases, leaseRecords, lenderId: id, now } = parts;
  const settled = (revision: number): Promise<void> => leases.settled(revision);
  const lender = new Lender({ journal, settled, store, id, maxCallMs, log, now });
  const others = (): ReadonlySet<string> | undefined => leaseRecords.lenders();
  return { lender, lenderList: new LenderList({ journal, id, others, intervalMs: leaseMs / LOOKS_A_LEASE, log }) };
}

/** How often an authority looks for lenders that are gone, in the time of a lease. */
const LOOKS_A_LEASE = 5;
const DEFAULT_MAX_CALL_MS = 90_000;

function keepAudit(
  { audit: limits = NO_LIMITS, log }: AuthorityOptions,
  { audit: trail }: Journal,
  clock: AuthorityClock,
): AuditKeeper {
  return new AuditKeeper({ limits, trail, now: clock.now, log }).open();
}

function writeAudit(
  { auditLog: to, store, log }: AuthorityOptions,
  journal: Journal,
  id: string,
): AuditLog | undefined {
  return to === undefined ? undefined : new AuditLog({ output: outputTo(to), journal, store, id, log }).open();
}

function checkAdminPassword(password: string): void {
  if (!isPassword(password)) throw new ConfigError("PORTICO_ADMIN_PASSWORD must have 12 to 128 characters");
}

/** Sets up the installation if it is new, and does what every start must complete. */
async function setUp(
  { store, dataFolder, adminPassword, services = [], log }: AuthorityOptions,
  parts: { journal: Journal; passwords: Passwords },
): Promise<FirstStart | undefined> {
  const { journal, passwords } = parts;
  const isSetUp = journal.state.revision > 0;
  const firstStart = await bootstrap({ ...parts, store: store.name, dataFolder, adminPassword, log });
  await enrolNew({ journal, dataFolder, services, log });
  record({ store, dataFolder, installationId: journal.state.installationId, log });
  deletePasswordFileOnceChanged({ journal, dataFolder, log });
  if (isSetUp && adminPassword !== undefined) {
    // Not awaited: checking a password takes a third of a second.
    warnOfUnusedPassword({ journal, passwords, adminPassword, log }).catch((err) =>
      log.warn({ err }, "PORTICO_ADMIN_PASSWORD could not be compared with the password of admin"),
    );
  }
  return firstStart;
}

/**
 * Opens the leases of guards. Reports them to other authorities on the store until `stopNotifying`.
 */
async function openLeases(
  { store, leaseMs, log, name = hostname() }: AuthorityOptions,
  {
    journal,
    clock,
    lenderId: lender,
    now,
  }: { journal: Journal; clock: AuthorityClock; lenderId: string; now: () => number },
): Promise<{ leases: Leases; leaseRecords: LeaseRecords; stopNotifying: () => void }> {
  const common = { leaseMs, restrictions: () => journal.state.restrictions, now, log };
  const rows = collectionOf(store, "grantors");
  if (!store.mayBeStale) {
    const leaseRecords = new LocalLeaseRecords({ rows, store: store.name, log, now, leaseMs });
    await leaseRecords.open();
    return { leases: new Leases({ ...common, leaseRecords }), leaseRecords, stopNotifying: () => undefined };
  }
  // Called at the first renewal, when `leases` is set.
  const lacking = () => Object.fromEntries(RESTRICTIONS.map((kind) => [kind, leases.lackingHere(kind)]));
  const leaseRecords: SharedLeaseRecords = new SharedLeaseRecords({
    store,
    rows,
    journal,
    clock,
    name,
    lender,
    log,
    now,
    leaseMs,
    lacking,
  });
  await leaseRecords.open();
  const leases = new Leases({ ...common, leaseRecords });
  const reports = new Reports({ journal, leases, leaseRecords, log });
  // Another authority has made a change: its caller waits until the guards here have applied it.
  const unfollow = store.follow("log", () => void journal.sync().catch(() => undefined));
  const stopNotifying = (): void => {
    unfollow();
    reports.close();
  };
  return { leases, leaseRecords, stopNotifying };
}

interface Recorded extends Pick<AuthorityOptions, "store" | "dataFolder" | "log"> {
  readonly installationId: string;
}

function record({ store, dataFolder, installationId, log }: Recorded): void {
  try {
    recordInstallationId(dataFolder, installationId);
    const before = recordInstallation(dataFolder, store.name);
    if (before !== undefined) log.warn({ store: store.name, before }, OTHER_STORE);
  } catch (error) {
    log.warn({ err: error }, "the data folder cannot be written: should the store be lost, a start will not notice");
  }
}
