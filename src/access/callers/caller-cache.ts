/**
 * The callers of tokens, as the authority resolved them. A token is looked up once, by its SHA-256,
 * and then cached by its text. So a call with a known token computes no hash and waits for nothing.
 * A caller is forgotten when the authority reports that something about it has changed. A response
 * that is older than the last such change is asked for again, and so is one of an authority that is
 * no longer followed: revisions are compared by number, and a primary of Postgres that was demoted
 * may show another change with the same number.
 *
 * Code that uses a caller after an `await` must check `isCurrent` first.
 */
import { setTimeout as pause } from "node:timers/promises";
import { authorityUnreachable } from "../../call/admission.js";
import { isJwt } from "../../call/jwt.js";
import { hashToken, isToken, tokenPrefix } from "../../call/token.js";
import { Code, StatusError } from "../../errors.js";
import type { EndedKey } from "../../gen/portico/auth/v1/policy.js";
import { BoundedMap } from "../../memory/bounded-map.js";
import type { AuthorityAccess, FollowedAuthority } from "../follow/authority-access.js";
import { CallerChanges, type ChangedCallers, type ConfirmedCaller } from "./caller-changes.js";
import { CallerTable } from "./caller-table.js";
import { KnownCaller } from "./known-caller.js";
import { Lookups, type Sourced } from "./lookups.js";

/**
 * Limits of the cache. A caller takes about 400 bytes, and more if its account has scopes that no
 * other account has.
 */
const LIMITS = { callers: 250_000, bytes: 96 * 1024 ** 2 };
/** Unknown tokens are cached apart from callers, so that made-up tokens cannot evict a caller. */
const MAX_UNKNOWN = 10_000;
/**
 * Maximum number of tokens that are looked up at the same time: the maximum number of connections
 * of a gateway.
 */
const MAX_LOOKUPS = 10_000;
/** Maximum number of used keys that are remembered for the next ping. */
const MAX_USED = 10_000;
/** How long a lookup may take, in milliseconds. */
export const LOOKUP_TIME = 5_000;
/**
 * How long to wait before an authority whose response was too old is asked again, in milliseconds.
 */
const RETRY_PAUSE = 10;
/**
 * How long to wait before an authority that cannot be reached is asked again, in milliseconds. It
 * may be restarting.
 */
const UNREACHABLE_PAUSE = 100;
/**
 * How long a token counts as unknown without asking again, in milliseconds. An invalid token never
 * becomes valid, except the key of a disabled account: it is looked up again when something about
 * its account has changed. But with several authorities on one store, one of them may not know a
 * token yet that another one has just issued.
 */
const UNKNOWN_TIME = 10_000;

/** The result for a token that belongs to no caller. */
export const UNKNOWN_TOKEN = Symbol("unknown token");

interface UnknownToken {
  /** Until when it counts as unknown, in milliseconds of `performance.now()`. */
  readonly until: number;
  /** The prefix if it has the form of an API key, otherwise empty. */
  readonly key: string;
  readonly ended: EndedKey | undefined;
  /** The account of an ended key: it may be enabled again. */
  readonly owner: ConfirmedCaller | undefined;
}

const NO_KEY: Pick<UnknownToken, "key" | "ended"> = { key: "", ended: undefined };

/** The callers of tokens that one guard has looked up. */
export class CallerCache {
  readonly #authority: AuthorityAccess;
  readonly #asking: Lookups;
  readonly #changes = new CallerChanges();
  readonly #known = new CallerTable(LIMITS);
  readonly #unknown = new BoundedMap<string, UnknownToken>(MAX_UNKNOWN);
  readonly #lookups = new Map<string, Promise<KnownCaller | undefined>>();
  #used: KnownCaller[] = [];

  /** @param source the authority that the guard follows; undefined if none is followed */
  constructor(authority: AuthorityAccess, source: () => FollowedAuthority | undefined) {
    this.#authority = authority;
    this.#asking = new Lookups(authority, source);
  }

  /** The revision of the last change to callers. */
  get changedAt(): bigint {
    return this.#changes.revision;
  }

  /**
   * The caller of a token as far as it is known here; its expiry is not checked. Undefined: the
   * token must be looked up.
   */
  find(token: string): KnownCaller | typeof UNKNOWN_TOKEN | undefined {
    return this.#find(token) ?? (isBearer(token) ? undefined : this.#findJwt(token));
  }

  #find(token: string): KnownCaller | typeof UNKNOWN_TOKEN | undefined {
    const caller = this.#known.get(token);
    if (caller !== undefined) {
      if (this.#changes.confirm(caller)) return caller;
      this.#known.delete(token);
    }
    const unknown = this.#unknown.get(token);
    if (unknown !== undefined && performance.now() < unknown.until && this.#isStill(unknown)) return UNKNOWN_TOKEN;
    return undefined;
  }

  /** A JWT is long, so it is cached by its hash. No other text that is no token is looked up. */
  #findJwt(text: string): KnownCaller | typeof UNKNOWN_TOKEN | undefined {
    return isJwt(text) ? this.#find(nameOf(text)) : UNKNOWN_TOKEN;
  }

  #isStill({ owner }: UnknownToken): boolean {
    return owner === undefined || this.#changes.confirm(owner);
  }

  /** What a token was that belongs to no caller, as far as the authority remembers. */
  endOf(token: string): Pick<UnknownToken, "key" | "ended"> {
    return this.#unknown.get(nameOf(token)) ?? NO_KEY;
  }

  /**
   * Asks the authority for the caller of a token, once for all calls that need it at the same time.
   * @throws {StatusError} UNAVAILABLE if there is no response in time, or too many tokens are being
   * looked up
   */
  lookUp(token: string): Promise<KnownCaller | undefined> {
    return this.#once(nameOf(token), () => this.#lookUp(token));
  }

  /** @param name of a token: its text, or its SHA-256 */
  #once(name: string, ask: () => Promise<KnownCaller | undefined>): Promise<KnownCaller | undefined> {
    const underWay = this.#lookups.get(name);
    if (underWay !== undefined) return underWay;
    if (this.#lookups.size >= MAX_LOOKUPS) {
      return Promise.reject(new StatusError(Code.UNAVAILABLE, "Too many tokens are being looked up; try again"));
    }
    const lookup = ask().finally(() => this.#lookups.delete(name));
    this.#lookups.set(name, lookup);
    return lookup;
  }

  /**
   * As `lookUp`, for a caller that is known by its `hash`.
   * @throws {StatusError} UNAVAILABLE as `lookUp`
   */
  lookUpHash({ hash, hashBytes }: KnownCaller): Promise<KnownCaller | undefined> {
    return this.#once(hash, () => this.ask(hashBytes, performance.now() + LOOKUP_TIME));
  }

  async #lookUp(token: string): Promise<KnownCaller | undefined> {
    const hash = hashToken(token);
    const { caller, ended, version: confirmedAt } = await this.#askOnce(token, hash);
    if (caller === undefined) {
      const key = token.startsWith("ptk_") ? tokenPrefix(token) : "";
      const owner = ended && { ...ended, hash: hash.toString("latin1"), enrolment: undefined, confirmedAt };
      this.#unknown.set(copyOf(nameOf(token)), { until: performance.now() + UNKNOWN_TIME, key, ended, owner });
    } else {
      if (caller.reportUse) caller.keyPrefix = tokenPrefix(token);
      if (this.isCurrent(caller)) this.#known.set(copyOf(nameOf(token)), caller);
    }
    return caller;
  }

  /** As `ask`; a JWT that the authority does not know is sent to it to be verified. */
  async #askOnce(token: string, hash: Buffer) {
    const deadline = performance.now() + LOOKUP_TIME;
    const found = await this.#ask(hash, deadline);
    if (found.caller !== undefined || !isJwt(token)) return found;
    return (await this.#asking.acceptJwt(token, deadline)) ? this.#ask(hash, deadline) : found;
  }

  /**
   * Asks the authority for the caller of a token by its SHA-256, until the response is no older
   * than the last change, and of the authority that is followed.
   * @param deadlineMonotonicMs in milliseconds of `performance.now()`
   * @throws {StatusError} UNAVAILABLE if there is no such response in time
   */
  async ask(sha256: Buffer, deadlineMonotonicMs: number): Promise<KnownCaller | undefined> {
    return (await this.#ask(sha256, deadlineMonotonicMs)).caller;
  }

  async #ask(sha256: Buffer, deadlineMonotonicMs: number) {
    const { log } = this.#authority;
    try {
      for (;;) {
        const response = await this.#resolve(sha256, deadlineMonotonicMs);
        if (response !== undefined && !response.source.signal.aborted && response.revision >= this.changedAt) {
          const { caller, ended } = response;
          const { version } = this.#changes;
          return { caller: caller && new KnownCaller(sha256, caller, version), ended, version };
        }
        await pause(response === undefined ? UNREACHABLE_PAUSE : RETRY_PAUSE);
      }
    } catch (error) {
      log.warn({ err: error }, "a token could not be looked up at the authority");
      throw authorityUnreachable(error);
    }
  }

  /**
   * The authority's response; undefined if the authority cannot be reached and there is time to ask
   * again.
   */
  async #resolve(sha256: Buffer, deadlineMonotonicMs: number): Promise<Sourced | undefined> {
    try {
      return await this.#asking.ask(sha256, deadlineMonotonicMs);
    } catch (error) {
      // A batch has the earliest deadline of its lookups, which may be another caller's.
      const isUnreachable =
        error instanceof StatusError && [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED].includes(error.code);
      if (!isUnreachable || performance.now() + UNREACHABLE_PAUSE >= deadlineMonotonicMs) throw error;
      return undefined;
    }
  }

  /**
   * Whether nothing about a caller has changed since it was last confirmed. Also false if the
   * changes since then are no longer remembered. About a caller without a token nothing changes.
   */
  isCurrent(caller: KnownCaller | undefined): boolean {
    return caller === undefined || this.#changes.confirm(caller);
  }

  /** The version of callers (see CallerChanges) for what was resolved at a revision. */
  versionOf(revision: bigint): number {
    return this.#changes.versionOf(revision);
  }

  /** Something has changed about some callers. */
  change(revision: bigint, changed: ChangedCallers): void {
    this.#changes.add(revision, changed);
  }

  /** Forgets everything: the state of the given revision replaces what was known. */
  forgetAll(revision: bigint): void {
    this.#changes.addAll(revision);
    this.#known.clear();
    this.#unknown.clear();
  }

  noteUse(caller: KnownCaller): void {
    if (!caller.reportUse || caller.noted || this.#used.length >= MAX_USED) return;
    caller.noted = true;
    this.#used.push(caller);
  }

  /** The SHA-256 of each key used since the last call of this function. */
  takeUsed(): Buffer[] {
    const used = this.#used;
    this.#used = [];
    return used.map((caller) => {
      caller.noted = false;
      return caller.hashBytes;
    });
  }
}

/** The prefixes of tokens of calls: access tokens, keys and enrolments. */
const CALLS = /^pt[ake]_/;

/** Whether a text can be a bearer token: it is of a kind for calls, and has a valid checksum. */
function isBearer(text: string): boolean {
  return CALLS.test(text) && isToken(text);
}

/** By what a token is cached: its text, or the hash of a JWT. */
function nameOf(token: string): string {
  return token.startsWith("ey") ? `jwt ${hashToken(token).toString("hex")}` : token;
}

/**
 * A copy of a token's text: the original is a slice of a header, and would keep the whole header in
 * memory.
 */
function copyOf(token: string): string {
  return Buffer.from(token, "latin1").toString("latin1");
}
