/**
 * The authority's state, as computed from the change log: namespaces with accounts and rules,
 * logins, keys and enrolments. Only fold.ts changes it. The audit trail is not part of it, except
 * the number of records that each share has ever had (audit-records.ts). Keys and logins, perhaps a
 * million, are records outside of the JavaScript heap (records/); reading one returns a copy.
 */
import { keyOf, rootOf } from "../../../../src/access/assertions/assertion-keys.js";
import { restrictionsInForce } from "../../../../src/access/decide/restrictions.js";
import { GATEWAY } from "../../../../src/contract/names.js";
import type { Account, Enrolment, Key, Login, Snapshot, Token } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Caller, ContextKey } from "../../../../src/gen/portico/auth/v1/policy.js";
import { Pace } from "../../../../src/overload/pace.js";
import { timestampMs } from "../../../../src/time.js";
import type { ShareCounts } from "../audit/audit-records.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";
import { DraftTable } from "../records/draft-table.js";
import { type Records, RecordTable } from "../records/record-table.js";
import { callerOf } from "./caller-of.js";
import { EndedKeys } from "./ended-keys.js";
import { GrpcNames } from "./grpc-names.js";
import { hex } from "./hex.js";
import { LimitTable } from "./limit-table.js";
import { type AccountState, draftOf, frozen, type NamespaceState } from "./namespace-state.js";
import { OAuthTable } from "./oauth-table.js";
import { PeopleTable } from "./people-table.js";
import { ServiceTable } from "./service-table.js";
import { SessionTable } from "./session-table.js";
import { type FrozenState, KEYS, LOGINS } from "./snapshot-parts.js";
import { placeOf } from "./sorted.js";
import { type TokenState, tokenOf } from "./token-state.js";
import { TrustTable } from "./trust-table.js";

/** Maximum number of expired keys, and of expired logins, that one log entry removes. */
export const MAX_FORGOTTEN = 500;
/** How often tables are read whole for what has expired, in milliseconds. */
const FORGET_INTERVAL = 10 * 60_000;

const NONE: readonly number[] = [];

/** The state as of one revision. */
export class State {
  revision = 0;
  readonly namespaces: MapEntries<string, NamespaceState> = new Map();
  /** By the hex of their SHA-256. */
  readonly enrolments: MapEntries<string, Enrolment> = new Map();
  /** The keys of caller assertions are derived from it; empty before the first entry. */
  contextSecret = Buffer.alloc(0);
  /** Identifies the installation; empty before the first entry. */
  installationId = "";
  /** The revision that last replaced the key of each name. */
  readonly keyGenerations: MapEntries<string, number> = new Map();
  readonly grpcNames: GrpcNames = new GrpcNames();
  /** The services that join without an enrolment, by name. */
  readonly services: ServiceTable = new ServiceTable();
  readonly limits: LimitTable = new LimitTable();
  readonly oauth: OAuthTable = new OAuthTable();
  readonly trusts: TrustTable = new TrustTable();
  readonly people: PeopleTable = new PeopleTable();
  readonly sessions: SessionTable = new SessionTable();
  readonly auditShares: ShareCounts = new Map();
  readonly #keys: Records<Key> = new RecordTable(KEYS);
  readonly #logins: Records<Login> = new RecordTable(LOGINS);
  readonly endedKeys = new EndedKeys();
  /** The prefixes of the keys for clients at some addresses, by the hex of their SHA-256. */
  readonly keysFrom: MapEntries<string, string> = new Map();
  /** When tables were last read whole for what has expired, in milliseconds since 1970. */
  #forgotten = 0;

  /** @param base makes this a draft of it; see `draft` */
  constructor(base?: State) {
    if (base === undefined) return;
    // A draft does not live long enough.
    this.#forgotten = Number.POSITIVE_INFINITY;
    this.revision = base.revision;
    this.namespaces = new DraftMap(base.namespaces, draftOf);
    this.enrolments = new DraftMap(base.enrolments);
    this.contextSecret = base.contextSecret;
    this.installationId = base.installationId;
    this.keyGenerations = new DraftMap(base.keyGenerations);
    this.grpcNames = new GrpcNames(base.grpcNames);
    this.services = new ServiceTable(base.services);
    this.limits = new LimitTable(base.limits);
    this.oauth = new OAuthTable(base.oauth);
    this.trusts = new TrustTable(base.trusts);
    this.people = new PeopleTable(base.people);
    this.sessions = new SessionTable(base.sessions);
    this.auditShares = new DraftMap(base.auditShares);
    this.keysFrom = new DraftMap(base.keysFrom);
    this.#keys = new DraftTable(base.#keys, KEYS);
    this.#logins = new DraftTable(base.#logins, LOGINS);
  }

  /**
   * A copy that can be changed: to decide a change after changes that are not written yet. Must not
   * be used after this state has changed. It does not remove expired tokens.
   */
  draft(): State {
    return new State(this);
  }

  account(namespace: string, name: string): AccountState | undefined {
    return this.namespaces.get(namespace)?.accounts.get(name);
  }

  accounts(namespace: string): AccountState[] {
    return [...(this.namespaces.get(namespace)?.accounts.values() ?? [])];
  }

  /** The accounts of a namespace by name, ascending, from `name` on. */
  *accountsFrom(namespace: string, name = ""): Generator<AccountState> {
    const { accountNames = [], accounts } = this.namespaces.get(namespace) ?? {};
    for (let at = placeOf(accountNames, name); at < accountNames.length; at++) yield accounts!.get(accountNames[at]!)!;
  }

  /** The keys of an account, oldest first. */
  keysOf({ keys }: AccountState): Key[] {
    return keys.map((record) => this.#keys.get(record));
  }

  /** The key of a namespace that begins with a prefix. */
  keyWithPrefix(namespace: string, prefix: string): Key | undefined {
    const isMatch = (key: Key): boolean => key.prefix === prefix && key.namespace === namespace;
    return prefix === "" ? undefined : this.#keys.find(Buffer.from(prefix), isMatch)?.value;
  }

  /** The kinds of the restrictions that are in force (src/access/decide/restrictions.ts). */
  get restrictions(): readonly string[] {
    const limited = this.#keys.marked + this.oauth.limited + this.trusts.limited;
    return restrictionsInForce([limited > 0, this.limits.size > 0, this.keysFrom.size > 0]);
  }

  enrolmentsOf(name: string): Enrolment[] {
    return [...this.enrolments.values()].filter((enrolment) => enrolment.name === name);
  }

  /** What the token with the SHA-256 belongs to; undefined if it is unknown. */
  token(sha256: Buffer): TokenState | undefined {
    const key = this.#keys.find(sha256, (key) => key.sha256.equals(sha256))?.value;
    if (key !== undefined) return { kind: "key", key };
    const login = this.#logins.find(sha256, (login) => tokenOf(login, sha256) !== undefined)?.value;
    if (login !== undefined) return tokenOf(login, sha256);
    const enrolment = this.enrolments.get(hex(sha256));
    if (enrolment !== undefined) return { kind: "enrolment", enrolment };
    const granted = this.oauth.token(sha256);
    if (granted !== undefined) return { kind: "granted", granted };
    const trusted = this.trusts.token(sha256);
    if (trusted !== undefined) return { kind: "trusted", trusted };
    const ofSession = this.sessions.token(sha256);
    return ofSession && { kind: "session", ...ofSession };
  }

  /** @see callerOf */
  callerOf(sha256: Buffer, now: number): Caller | undefined {
    return callerOf(this, sha256, now);
  }

  /**
   * The key that signs caller assertions for a service; the root key for `gateway`. May be empty.
   */
  assertionKeys(name: string): ContextKey[] {
    if (this.contextSecret.length === 0) return [];
    const first = this.keyGenerations.get(GATEWAY) ?? 0;
    const root = { generation: first, secret: rootOf(this.contextSecret, first) };
    const key = name === GATEWAY ? root : keyOf(root, name, this.keyGenerations.get(name) ?? 0);
    return [{ name, generation: BigInt(key.generation), key: key.secret }];
  }

  /** The keys that a guard gets: a service its own key, a gateway all keys. */
  assertionKeysFor(enrolment: string): ContextKey[] {
    const names = enrolment === GATEWAY ? [GATEWAY, ...this.keyGenerations.keys()] : [enrolment];
    return [...new Set(names)].flatMap((name) => this.assertionKeys(name));
  }

  /** The current content, for a snapshot that is written while the state changes. */
  freeze(): FrozenState {
    const keys = this.#keys.freeze();
    const logins = this.#logins.freeze();
    return {
      revision: this.revision,
      namespaces: [...this.namespaces.values()].map((one) => frozen(one, this.limits.of(one.name))),
      enrolments: [...this.enrolments.values()],
      contextSecret: this.contextSecret,
      installationId: this.installationId,
      keyGenerations: [...this.keyGenerations],
      grpcNames: this.grpcNames.freeze(),
      services: this.services.freeze(),
      lenders: this.limits.lenders,
      hasKeysFrom: this.keysFrom.size > 0,
      oauth: this.oauth.freeze(),
      trusts: this.trusts.freeze(),
      people: this.people.freeze(),
      sessions: this.sessions.freeze(),
      auditShares: [...this.auditShares],
      keys,
      logins,
      release: () => {
        keys.release();
        logins.release();
      },
    };
  }

  /** Adds a part of a snapshot. One namespace may be in several parts; accounts precede tokens. */
  async merge(snapshot: Snapshot): Promise<void> {
    const pace = new Pace();
    this.revision = Number(snapshot.revision) || this.revision;
    for (const { name, created, id, accounts, rules, disabledRules, limits } of snapshot.namespaces) {
      const namespace = this.namespaces.get(name) ?? this.addNamespace({ name, created, id });
      for (const account of accounts) this.addAccount(name, account);
      for (const rule of [...rules, ...disabledRules]) namespace.rules.set(rule.id, rule);
      for (const { limit, revision } of limits) if (limit) this.limits.set(name, { limit, revision });
    }
    for (const login of snapshot.logins) {
      this.addLogin(login);
      await pace.step();
    }
    for (const key of snapshot.keys) {
      this.addKey(key);
      await pace.step();
    }
    for (const enrolment of snapshot.enrolments) this.addEnrolment(enrolment);
    if (snapshot.contextSecret.length > 0) this.contextSecret = Buffer.from(snapshot.contextSecret);
    this.installationId = snapshot.installationId || this.installationId;
    for (const { name, generation } of snapshot.keyGenerations) this.keyGenerations.set(name, Number(generation));
    this.grpcNames.merge(snapshot);
    this.services.merge(snapshot.services);
    for (const table of [this.oauth, this.trusts, this.people, this.sessions]) table.merge(snapshot);
    if (snapshot.lenders !== undefined) this.limits.lenders = snapshot.lenders;
    for (const { name, count } of snapshot.auditShares) this.auditShares.set(name, Number(count));
  }

  addNamespace(named: Pick<NamespaceState, "name" | "created" | "id">): NamespaceState {
    const namespace: NamespaceState = { ...named, accounts: new Map(), accountNames: [], rules: new Map() };
    this.namespaces.set(named.name, namespace);
    return namespace;
  }

  addAccount(namespace: string, { name, scopes, created, password, disabled, loginsEnded }: Account): void {
    // Copied: the bytes of a decoded message keep the memory of the whole message in use.
    const own = password && { ...password, salt: Buffer.from(password.salt), hash: Buffer.from(password.hash) };
    const tokens = { loginsEnded, logins: NONE, keys: NONE };
    this.setAccount(namespace, { name, scopes, created, password: own, disabled, ...tokens });
    const names = this.namespaces.get(namespace)?.accountNames;
    names?.splice(placeOf(names, name), 0, name);
  }

  /** Replaces an account of a namespace, if the namespace exists. */
  setAccount(namespace: string, account: AccountState): void {
    this.namespaces.get(namespace)?.accounts.set(account.name, account);
  }

  /** Removes an account with its logins and keys. */
  removeAccount(namespace: string, { name, logins, keys }: AccountState): void {
    for (const login of logins) this.#logins.remove(login);
    for (const key of keys) this.#removeKey(key, this.#keys.get(key), true);
    this.oauth.removeGrantsOf(namespace, name);
    this.trusts.removeTrustsOf(namespace, name);
    this.people.removeLinksOf(namespace, name);
    this.sessions.removeSessionsOf(namespace, name);
    const owner = this.namespaces.get(namespace);
    owner?.accounts.delete(name);
    owner?.accountNames.splice(placeOf(owner.accountNames, name), 1);
  }

  /** The login with the name. */
  login(name: Buffer): Login | undefined {
    return this.#findLogin(name)?.value;
  }

  /** The least recently used login of the account. */
  oldestLogin({ logins }: AccountState): Login | undefined {
    return logins[0] === undefined ? undefined : this.#logins.get(logins[0]);
  }

  addLogin(login: Login): void {
    const owner = this.account(login.namespace, login.account);
    if (owner === undefined) return;
    const record = this.#logins.add(login);
    this.setAccount(login.namespace, { ...owner, logins: [...owner.logins, record] });
  }

  /** Removes a login; returns the hashes of its access tokens. */
  removeLogin({ login: name }: Login): Buffer[] {
    const found = this.#findLogin(name);
    if (found === undefined) return [];
    const { record, value: login } = found;
    const owner = this.account(login.namespace, login.account);
    this.#logins.remove(record);
    if (owner) this.setAccount(login.namespace, { ...owner, logins: owner.logins.filter((one) => one !== record) });
    return login.access.map(({ sha256 }) => sha256);
  }

  /** Ends the logins, grants and sessions of an account, and the tokens of its trusts. */
  removeLogins(namespace: string, account: AccountState): void {
    for (const login of account.logins) this.#logins.remove(login);
    this.oauth.removeGrantsOf(namespace, account.name);
    this.trusts.endTokensOf(namespace, account.name);
    this.sessions.removeSessionsOf(namespace, account.name);
    this.setAccount(namespace, { ...account, logins: NONE, loginsEnded: BigInt(this.revision) });
  }

  addKey(key: Key): void {
    const owner = this.account(key.namespace, key.account);
    if (owner === undefined) return;
    const record = this.#keys.add(key);
    if (key.from.length > 0) this.keysFrom.set(hex(key.sha256), key.prefix);
    this.setAccount(key.namespace, { ...owner, keys: [...owner.keys, record] });
  }

  /** Changes the key with the hash; returns the old key, if there is one. */
  changeKey(sha256: Buffer, change: Pick<Key, "expires"> | Pick<Key, "lastUsed">): Key | undefined {
    const found = this.#findKey(sha256);
    if (found !== undefined) this.#keys.replace(found.record, { ...found.value, ...change });
    return found?.value;
  }

  /** Removes the key with the hash; returns it, if there is one. */
  removeKey(sha256: Buffer): Key | undefined {
    const found = this.#findKey(sha256);
    if (found !== undefined) this.#removeKey(found.record, found.value, true);
    return found?.value;
  }

  addEnrolment(enrolment: Enrolment): void {
    this.enrolments.set(hex(enrolment.sha256), enrolment);
  }

  removeEnrolment(enrolment: Enrolment): void {
    this.enrolments.delete(hex(enrolment.sha256));
  }

  /**
   * Removes expired tokens, the earliest first, and frees memory. Both in limited steps, because a
   * million tokens may expire at the same moment.
   */
  forget(now: number): void {
    for (let count = 0; count < MAX_FORGOTTEN; count++) {
      const record = this.#keys.expired(now);
      if (record === undefined) break;
      this.#removeKey(record, this.#keys.get(record), false);
    }
    for (let count = 0; count < MAX_FORGOTTEN; count++) {
      const record = this.#logins.expired(now);
      if (record === undefined) break;
      this.#forgetTokens(record, this.#logins.get(record), now);
    }
    if (now - this.#forgotten >= FORGET_INTERVAL) {
      this.#forgotten = now;
      for (const table of [this.oauth, this.trusts, this.people, this.sessions]) table.forget(now);
    }
    this.#keys.tidy(2 * MAX_FORGOTTEN);
    this.#logins.tidy(2 * MAX_FORGOTTEN);
  }

  #findKey(sha256: Buffer): { record: number; value: Key } | undefined {
    return this.#keys.find(sha256, (key) => key.sha256.equals(sha256));
  }

  #findLogin(name: Buffer): { record: number; value: Login } | undefined {
    return this.#logins.find(name, ({ login }) => login.equals(name));
  }

  #removeKey(record: number, key: Key, revoked: boolean): void {
    const { namespace, account } = key;
    this.endedKeys.remember(key, revoked);
    if (key.from.length > 0) this.keysFrom.delete(hex(key.sha256));
    const owner = this.account(namespace, account);
    this.#keys.remove(record);
    if (owner) this.setAccount(namespace, { ...owner, keys: owner.keys.filter((one) => one !== record) });
  }

  #forgetTokens(record: number, login: Login, now: number): void {
    const isAlive = (token: Token): boolean => timestampMs(token.expires) > now;
    const refresh = login.refresh && isAlive(login.refresh) ? login.refresh : undefined;
    const kept: Login = { ...login, access: login.access.filter(isAlive), spent: login.spent.filter(isAlive), refresh };
    if (refresh !== undefined || kept.access.length > 0) this.#logins.replace(record, kept);
    else this.removeLogin(login);
  }
}
