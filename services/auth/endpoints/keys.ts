/**
 * Keys: API keys of the caller or, for an administrator, of the namespace; and when they were used.
 */
import type { Logger } from "pino";
import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { KEY_ADDRESSES, LIMITED_KEYS } from "../../../src/access/decide/restrictions.js";
import { AddressRanges } from "../../../src/address/client-address.js";
import { createToken, hashToken, isToken, tokenPrefix } from "../../../src/call/token.js";
import { AdminPart, administers, isAdminScope } from "../../../src/contract/admin-parts.js";
import { parsePattern } from "../../../src/contract/resource.js";
import { aborted, failedPrecondition, invalidArgument, notFound, permissionDenied } from "../../../src/errors.js";
import type { Key as StoredKey } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type CreateKeyRequest,
  type CreateKeyResponse,
  Key,
  KeysService,
  type RotateKeyRequest,
} from "../../../src/gen/portico/auth/v1/keys.js";
import { mapPaced } from "../../../src/overload/pace.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { durationMs, timestampMs, toTimestamp } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import type { Decide, LogEvent } from "../log/changelog/decide.js";
import { type Journal, PORTICO } from "../log/changelog/journal.js";
import { hex } from "../log/state/hex.js";
import type { State } from "../log/state/state.js";
import { AdminShare } from "./admin-share.js";
import { accountOf, authorOf, checkEach } from "./checks.js";
import { type PageItems, pageOf } from "./page.js";

const DAY = 24 * 60 * 60_000;
const DEFAULT_LIFE = 90 * DAY;
const MAX_LIFE = 365 * DAY;
const MAX_KEYS = 100;
const MAX_RESOURCES = 100;
const MAX_FROM = 100;
const MAX_NAME_LENGTH = 100;
/**
 * Maximum draws for an unused prefix. With a million keys, one in 57,000 draws is a used prefix.
 */
const MAX_DRAWS = 8;
/** Characters that break a line, or change the direction of text around the name. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

interface Options {
  readonly changes: Changes;
  readonly keyUses: KeyUses;
}

/** The gRPC service portico.auth.v1.Keys. */
export function keys({ changes, keyUses }: Options): ServicePart {
  return part(KeysService, {
    list: async (request, context) => {
      const caller = accountOf(context);
      await changes.sync();
      const { items, nextPageToken } = pageOf(request, await listOf(changes, caller));
      return { keys: items.map((key) => shown(changes.state, key, keyUses)), nextPageToken };
    },
    create: (request, context) => create(changes, request, context),
    revoke: async ({ prefix }, context) => {
      const caller = accountOf(context);
      await changes.make(authorOf(context), (state) => {
        const { sha256 } = find(state, caller, prefix, changes.now);
        return [{ $case: "keyRevoked", value: { sha256 } }];
      });
      return {};
    },
    rotate: (request, context) => rotate(changes, request, context),
  });
}

async function create(changes: Changes, request: CreateKeyRequest, context: Context): Promise<CreateKeyResponse> {
  const caller = await mayCreate(changes, context);
  const { name, resources, from, admin = false } = request;
  if (name.length < 1 || name.length > MAX_NAME_LENGTH || UNPRINTABLE.test(name)) {
    throw invalidArgument(`name: must have 1 to ${MAX_NAME_LENGTH} printable characters`);
  }
  if (name !== name.trim()) throw invalidArgument("name: must not begin or end with white space");
  const life = request.lifetime === undefined ? DEFAULT_LIFE : durationMs(request.lifetime);
  if (!(life >= DAY && life <= MAX_LIFE)) throw invalidArgument("lifetime: must be from 1 to 365 days");
  checkEach("resources", resources, MAX_RESOURCES, parsePattern);
  checkEach("from", from, MAX_FROM, (text) => new AddressRanges([text]));
  const { namespace } = caller;
  const account = request.account || caller.account;
  if (isKey(changes.state, caller) && changes.now + life > caller.expires) {
    throw permissionDenied("lifetime: a key cannot create one that outlives it; log in to");
  }
  const given = { namespace, account, name, resources, from: [...new Set(from)], callsOnly: !admin };
  const { secret, key } = createKey(changes, given, life);
  const decide: Decide = (state) => {
    checkOwner(state, caller, key);
    if (admin) checkAdministers(state, caller, account);
    checkQuota(state, key, changes.now);
    return [creationOf(state, key)];
  };
  const restrictions = [
    ...(resources.length > 0 ? ([[LIMITED_KEYS, "resources: a key that is limited to them"]] as const) : []),
    ...(from.length > 0 ? ([[KEY_ADDRESSES, "from: a key that is limited to addresses"]] as const) : []),
  ];
  for (const [kind, what] of restrictions) await changes.checkRestriction(kind, what);
  if (restrictions.length === 0) await changes.issue(authorOf(context), decide);
  else await changes.make(authorOf(context), decide);
  return { secret, key: shown(changes.state, key) };
}

async function rotate(changes: Changes, request: RotateKeyRequest, context: Context): Promise<CreateKeyResponse> {
  const caller = await mayCreate(changes, context);
  const overlap = request.overlap === undefined ? 0 : durationMs(request.overlap);
  if (overlap < 0) throw invalidArgument("overlap: must not be negative");
  const old = find(changes.state, caller, request.prefix, changes.now);
  const life = Number(old.lifetimeMs);
  const latest = isKey(changes.state, caller) ? caller.expires : undefined;
  const { secret, key } = createKey(changes, old, life, latest);
  await changes.make(authorOf(context), (state, now) => {
    const { sha256, expires } = find(state, caller, request.prefix, now);
    checkOwner(state, caller, key);
    if (!old.callsOnly) checkMayReplace(state, caller, old);
    checkQuota(state, key, now);
    const end = Math.min(now + overlap, timestampMs(expires));
    return [
      creationOf(state, key),
      overlap === 0
        ? { $case: "keyRevoked", value: { sha256 } }
        : { $case: "keyShortened", value: { sha256, expires: toTimestamp(end) } },
    ];
  });
  return { secret, key: shown(changes.state, key) };
}

type GivenKey = Pick<StoredKey, "namespace" | "account" | "name" | "resources" | "from" | "callsOnly">;

/** A key that earlier versions would let do more has an event of its own (fold-accounts.ts). */
function creationOf(state: State, key: StoredKey): LogEvent {
  const scopes = state.account(key.namespace, key.account)?.scopes ?? [];
  const isRestricted = key.from.length > 0 || (key.callsOnly === true && scopes.some(isAdminScope));
  return { $case: isRestricted ? "restrictedKeyCreated" : "keyCreated", value: { key } };
}

function createKey(
  { state, now }: Changes,
  { namespace, account, name, resources, from, callsOnly }: GivenKey,
  life: number,
  latest = Number.POSITIVE_INFINITY,
): { secret: string; key: StoredKey } {
  let secret = createToken("key");
  for (let draws = 1; draws < MAX_DRAWS && state.keyWithPrefix(namespace, tokenPrefix(secret)) !== undefined; draws++) {
    secret = createToken("key");
  }
  const key: StoredKey = {
    sha256: hashToken(secret),
    prefix: tokenPrefix(secret),
    namespace,
    account,
    name,
    created: toTimestamp(now),
    expires: toTimestamp(Math.min(now + life, latest)),
    lifetimeMs: BigInt(Math.round(life)),
    lastUsed: undefined,
    resources,
    callsOnly,
    from,
  };
  return { secret, key };
}

/** The caller's keys, and other keys that it administers, by account and time of creation. */
async function listOf({ state, now }: Changes, caller: KnownCaller): Promise<PageItems<StoredKey>> {
  const share = new AdminShare(state, caller, AdminPart.KEYS);
  const isSeen = (key: StoredKey) => key.account === caller.account || share.hasKey(key);
  const { namespace } = caller;
  const some = share.isNothing ? [caller.account] : share.isAll ? [] : await accountsWith(state, namespace, isSeen);
  return {
    *after(position) {
      const [last] = position ?? [];
      // Looked up again: an account may have been deleted.
      const found = some.flatMap((name) => (name < (last ?? "") ? [] : (state.account(namespace, name) ?? [])));
      for (const account of share.isAll ? state.accountsFrom(namespace, last) : found) {
        const alive = state.keysOf(account).filter((key) => timestampMs(key.expires) > now && isSeen(key));
        const keys = alive.sort((a, b) => compareKeys(positionOf(a), positionOf(b)));
        yield* account.name === last ? keys.filter((key) => compareKeys(positionOf(key), position!) > 0) : keys;
      }
    },
    positionOf,
    bytesOf: (key) => Key.encode(shown(state, key)).finish().length,
  };
}

/** The accounts that have such a key. Paced, because there may be a million keys. */
async function accountsWith(state: State, namespace: string, isSuch: (key: StoredKey) => boolean): Promise<string[]> {
  const names = Array.from(state.accountsFrom(namespace), ({ name }) => name);
  const found = await mapPaced(names, (name) => {
    const account = state.account(namespace, name);
    return account !== undefined && state.keysOf(account).some(isSuch) ? [name] : [];
  });
  return found.flat();
}

function positionOf({ account, created, prefix }: StoredKey): readonly string[] {
  return [account, `${timestampMs(created)}`, prefix];
}

/** Compares two keys of an account, by their positions. */
function compareKeys([, createdA, prefixA = ""]: readonly string[], [, createdB, prefixB = ""]: readonly string[]) {
  return Number(createdA) - Number(createdB) || (prefixA < prefixB ? -1 : prefixA > prefixB ? 1 : 0);
}

/** @throws {StatusError} NOT_FOUND if there is no such key, or it is not the caller's. */
function find(state: State, caller: KnownCaller, prefix: string, now: number): StoredKey {
  const key = state.keyWithPrefix(caller.namespace, prefix);
  const share = new AdminShare(state, caller, AdminPart.KEYS);
  const isVisible = key !== undefined && (key.account === caller.account || share.hasKey(key));
  if (!isVisible || timestampMs(key.expires) <= now) throw notFound(`no key with the prefix ${prefix}`);
  return key;
}

/** Maximum number of keys that an error names. */
const MAX_NAMED = 10;

/**
 * Finds a key of a namespace by its prefix or its name.
 * @param of the account of the key; empty for any account
 * @throws {StatusError} NOT_FOUND; INVALID_ARGUMENT if several keys have the name
 */
export async function findByPrefixOrName(
  changes: Changes,
  { namespace, account: of }: { readonly namespace: string; readonly account: string },
  text: string,
): Promise<StoredKey> {
  if (isToken(text)) {
    throw invalidArgument("key: must be a prefix, such as ptk_4fGh81, or a name; never the key itself");
  }
  const { state, now } = changes;
  const isMeant = (key: StoredKey): boolean =>
    (of === "" || key.account === of) && timestampMs(key.expires) > now && (key.prefix === text || key.name === text);
  const byPrefix = state.keyWithPrefix(namespace, text);
  if (byPrefix !== undefined && isMeant(byPrefix)) return byPrefix;
  const names = of === "" ? Array.from(state.accountsFrom(namespace), ({ name }) => name) : [of];
  // Paced, because there may be a million keys. The account is looked up each time: it may be
  // deleted.
  const keysNamed = await mapPaced(names, (name) => {
    const account = state.account(namespace, name);
    return account === undefined ? [] : state.keysOf(account).filter(isMeant);
  });
  const [key, ...others] = keysNamed.flat();
  const owner = of === "" ? "" : ` of ${of}`;
  if (key === undefined) throw notFound(`no key${owner} with the prefix or the name ${text}`);
  if (others.length === 0) return key;
  const shown = [key, ...others].slice(0, MAX_NAMED).map(({ prefix, account }) => `${prefix} of ${account}`);
  const more = others.length + 1 - shown.length;
  const candidates = shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
  throw invalidArgument(`key: several keys have the name ${text}; give the prefix of one: ${candidates}`);
}

/** Maximum number of scopes that an error names. */
const MAX_SHOWN_SCOPES = 3;

/**
 * Whoever creates a key reads its secret, and so can call as its account. So a caller creates keys
 * only for accounts whose scopes it has itself.
 * @throws {StatusError} PERMISSION_DENIED, NOT_FOUND
 */
function checkOwner(state: State, caller: KnownCaller, key: StoredKey): void {
  const name = key.account;
  if (name === caller.account) return;
  const share = new AdminShare(state, caller, AdminPart.KEYS);
  if (share.isNothing) {
    throw permissionDenied("account: only an administrator may create a key for another account");
  }
  share.checkKey(key);
  const owner = state.account(caller.namespace, name);
  if (owner === undefined) throw notFound(`no account with the name ${name}`);
  const held = new Set(state.account(caller.namespace, caller.account)?.scopes);
  // Who administers everything can give itself each scope of administration.
  const isGiven = (scope: string) => administers(caller) && isAdminScope(scope);
  const lacking = owner.scopes.filter((scope) => !held.has(scope) && !isGiven(scope));
  if (lacking.length === 0) return;
  const more = lacking.length > MAX_SHOWN_SCOPES ? ` and ${lacking.length - MAX_SHOWN_SCOPES} more` : "";
  throw permissionDenied(
    `account: ${name} holds scopes that ${caller.account} lacks: ${lacking.slice(0, MAX_SHOWN_SCOPES).join(", ")}${more}. ` +
      "An account that holds them can create the key",
  );
}

/**
 * @throws {StatusError} PERMISSION_DENIED for a key that administers nothing: it would give itself
 *   more; FAILED_PRECONDITION for an account that administers nothing.
 */
function checkAdministers(state: State, caller: KnownCaller, name: string): void {
  if (caller.callsOnly) {
    throw permissionDenied("admin: this API key administers nothing, so it creates no key that does; log in to");
  }
  if (state.account(caller.namespace, name)?.scopes.some(isAdminScope)) return;
  throw failedPrecondition(`admin: ${name} holds no scope of administration, such as admin; give it one first`);
}

/**
 * A key that administers nothing does not replace one that does, because it would read its secret.
 * @throws {StatusError} PERMISSION_DENIED
 */
function checkMayReplace(state: State, caller: KnownCaller, { namespace, account, prefix }: StoredKey): void {
  if (!caller.callsOnly || !state.account(namespace, account)?.scopes.some(isAdminScope)) return;
  throw permissionDenied(
    `prefix: ${prefix} administers, and this API key does not, so it cannot replace it; log in to`,
  );
}

function checkQuota(state: State, { namespace, account, prefix }: StoredKey, now: number): void {
  const owner = state.account(namespace, account);
  if (owner === undefined) throw notFound(`no account with the name ${account}`);
  if (owner.disabled)
    throw failedPrecondition(`account: ${account} is disabled, so its keys are refused; enable it first`);
  const alive = state.keysOf(owner).filter(({ expires }) => timestampMs(expires) > now);
  if (alive.length >= MAX_KEYS) {
    throw failedPrecondition(`the account has ${MAX_KEYS} keys, the most it may; revoke one`);
  }
  // Another authority may have drawn the same prefix at the same time.
  if (state.keyWithPrefix(namespace, prefix) !== undefined) throw aborted("the new key's prefix is taken; try again");
}

function isKey(state: State, { hashBytes }: KnownCaller): boolean {
  return state.token(hashBytes)?.kind === "key";
}

/**
 * A key that is limited to some resources or addresses must not create a key without limits. What
 * came from a JWT ends with it, with its trust and its issuer; a key would go on.
 * @throws {StatusError} PERMISSION_DENIED
 */
async function mayCreate(changes: Changes, context: Context): Promise<KnownCaller> {
  const caller = accountOf(context);
  if (caller.resources.length > 0 || caller.from !== undefined) {
    const what = caller.from === undefined ? "resources" : "addresses";
    throw permissionDenied(`A key that is limited to ${what} cannot create keys`);
  }
  await changes.sync();
  if (changes.state.token(caller.hashBytes)?.kind !== "trusted") return caller;
  throw permissionDenied(
    "A token that came from a JWT cannot create keys, which would outlive it; log in to create one",
  );
}

/** A key as responses show it, without its hash. */
export function shown(state: State, key: StoredKey, keyUses?: KeyUses): Key {
  const { prefix, name, namespace, account, created, expires, resources, from, callsOnly } = key;
  const { scopes = [], disabled = false } = state.account(namespace, account) ?? {};
  const admin = !callsOnly && scopes.some(isAdminScope);
  const unwritten = keyUses?.lastUse(key.sha256);
  const lastUsed = unwritten === undefined ? key.lastUsed : toTimestamp(unwritten);
  return { prefix, name, account, created, expires, lastUsed, resources, admin, from, disabled };
}

/** How often the uses of keys are written to the log, in milliseconds. */
const WRITE_INTERVAL = 60_000;
/** Maximum number of uses in one log entry. */
const MAX_USES = 1_000;

/**
 * When API keys were last used, as guards report. Written to the log once a minute and at the stop.
 */
export class KeyUses {
  readonly #journal: Journal;
  readonly #log: Logger;
  /** Unwritten uses by the hex of the key's hash. */
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ journal, log }: { journal: Journal; log: Logger }) {
    this.#journal = journal;
    this.#log = log;
  }

  record(sha256: Buffer): void {
    if (this.#journal.state.token(sha256)?.kind !== "key") return;
    this.#uses.set(hex(sha256), this.#journal.now);
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_INTERVAL).unref();
    if (this.#uses.size === MAX_USES) void this.flush();
  }

  /** The latest use that is not written yet, in milliseconds of `Date.now()`; undefined if none. */
  lastUse(sha256: Uint8Array): number | undefined {
    return this.#uses.get(hex(sha256));
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const uses = [...this.#uses].map(([hash, time]) => ({ sha256: Buffer.from(hash, "hex"), time: toTimestamp(time) }));
    if (uses.length === 0) return;
    this.#uses.clear();
    try {
      await this.#journal.commit(PORTICO, () => [{ $case: "keysUsed", value: { uses } }]);
    } catch (error) {
      this.#log.warn({ err: error }, "when API keys were used could not be written down");
    }
  }
}
