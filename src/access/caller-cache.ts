/**
 * The callers of tokens, as looked up at the authority. A token is looked up once, by its SHA-256, and then kept by its
 * text, so a call with a known token computes no hash and waits for nothing. A caller is forgotten when the authority says
 * that something about it changed; an answer that is older than the last such change is asked for again.
 *
 * Code that holds a caller across an `await` must ask `isCurrent` before it relies on it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { BoundedMap } from "../bounded-map.js";
import { parsePattern, type Resource } from "../contract/resource.js";
import { Code, StatusError } from "../errors.js";
import { PolicyService, type Caller as ResolvedCaller, type ResolveResponse } from "../gen/portico/auth/v1/policy.js";
import type { CallStart, Channel } from "../rpc/channel.js";
import { repeated } from "../rpc/client.js";
import type { Metadata } from "../rpc/metadata.js";
import { timestampMs } from "../time.js";
import { authorityUnreachable, type Caller } from "./admission.js";
import type { Authorities } from "./authorities.js";
import { hashToken, isToken } from "./token.js";

/** How a guard reaches the authority. */
export interface AuthorityAccess {
  /** To any authority: for calls, and where there is only one for the stream of rules too. */
  readonly channel: Channel;
  /** Those to choose from, where there are several. */
  readonly authorities?: Authorities | undefined;
  /** The bearer of the enrolment, where the authority is another process. */
  readonly metadata?: Metadata | undefined;
  /** SYSTEM, where the authority is in this process. */
  readonly admission?: CallStart["admission"];
  readonly log: Logger;
}

const MAX_CALLERS = 10_000;
/** Apart from the callers, so that made-up tokens push no caller out. */
const MAX_UNKNOWN = 10_000;
const MAX_LOOKUPS = 1_000;
/** Most used keys remembered for the next ping. */
const MAX_USED = 10_000;
/** How long a lookup may take, in milliseconds. */
export const LOOKUP_TIME = 5_000;
/** How long to wait before asking again an authority whose answer was too old, in milliseconds. */
const RETRY_PAUSE = 10;
/** How long to wait before asking again an authority that is not reached, as while it restarts; in milliseconds. */
const UNREACHABLE_PAUSE = 100;
/**
 * How long a token counts as unknown without asking again, in milliseconds. A token that is not valid never becomes
 * valid; but where several authorities share a store, one may not yet know of a token that another has just issued.
 */
const UNKNOWN_TIME = 10_000;

/** The result for a token that belongs to no caller. */
export const UNKNOWN_TOKEN = Symbol("unknown token");

/** A caller found by a token. */
export class KnownCaller implements Caller {
  readonly namespace: string;
  readonly account: string;
  readonly scopes: readonly string[];
  readonly expires: number;
  readonly resources: readonly string[];
  readonly enrolment: string | undefined;
  /** `resources`, ready to match. */
  readonly limits: readonly Resource[];
  /** SHA-256 of the token, in hexadecimal. */
  readonly sha256: string;
  readonly reportUse: boolean;
  /** Whether its use has been noted since the last ping. */
  noted = false;
  /** The count of changes to callers when it was last known to be right. */
  confirmedAt: number;

  /** @throws {SyntaxError} when a resource that the token is limited to cannot be understood. */
  constructor(sha256: string, caller: ResolvedCaller, confirmedAt: number) {
    this.namespace = caller.namespace;
    this.account = caller.account;
    this.scopes = caller.scopes;
    this.enrolment = caller.enrolment === "" ? undefined : caller.enrolment;
    this.expires = expiry(caller);
    this.resources = caller.resources;
    this.limits = caller.resources.map(parsePattern);
    this.sha256 = sha256;
    this.reportUse = caller.reportUse;
    this.confirmedAt = confirmedAt;
  }
}

/** Only an enrolment token may last for ever; anything else without an expiry has expired. */
function expiry({ expires, enrolment }: ResolvedCaller): number {
  if (expires === undefined) return enrolment === "" ? 0 : Number.POSITIVE_INFINITY;
  return timestampMs(expires);
}

/** The callers of tokens that one guard has looked up, and when each was last known to be right. */
export class CallerCache {
  /** The revision of the last change to callers: what was said of one before may be out of date. */
  changedAt = 0n;
  /** How many changes to callers there have been. */
  changes = 0;
  readonly #authority: AuthorityAccess;
  readonly #known = new BoundedMap<string, KnownCaller>(MAX_CALLERS);
  /** Until when a token counts as unknown, in milliseconds of `performance.now()`. */
  readonly #unknown = new BoundedMap<string, number>(MAX_UNKNOWN);
  readonly #lookups = new Map<string, Promise<KnownCaller | undefined>>();
  #used: KnownCaller[] = [];

  constructor(authority: AuthorityAccess) {
    this.#authority = authority;
  }

  /** The caller of a token as far as it is known here, its expiry not yet judged; undefined: it must be looked up. */
  find(token: string): KnownCaller | typeof UNKNOWN_TOKEN | undefined {
    const caller = this.#known.get(token);
    if (caller !== undefined) {
      caller.confirmedAt = this.changes;
      return caller;
    }
    if (!isBearer(token)) return UNKNOWN_TOKEN;
    const until = this.#unknown.get(token);
    return until !== undefined && performance.now() < until ? UNKNOWN_TOKEN : undefined;
  }

  /**
   * Asks the authority for the caller of a token; one question for all that ask at the same time.
   * @throws {StatusError} UNAVAILABLE when there is no answer in time, or too many tokens are being looked up.
   */
  lookUp(token: string): Promise<KnownCaller | undefined> {
    return this.#once(token, () => this.#lookUp(token));
  }

  /** @param name of a token: its text, or its SHA-256. */
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
   * As `lookUp`, for a caller that is known by the SHA-256 of its token in hexadecimal.
   * @throws {StatusError} UNAVAILABLE as `lookUp`.
   */
  lookUpHash(sha256: string): Promise<KnownCaller | undefined> {
    return this.#once(sha256, () => this.ask(Buffer.from(sha256, "hex"), Date.now() + LOOKUP_TIME));
  }

  async #lookUp(token: string): Promise<KnownCaller | undefined> {
    const caller = await this.ask(hashToken(token), Date.now() + LOOKUP_TIME);
    if (caller === undefined) this.#unknown.set(token, performance.now() + UNKNOWN_TIME);
    else if (this.isCurrent(caller)) this.#known.set(token, caller);
    return caller;
  }

  /**
   * Asks the authority for the caller of a token by its SHA-256, until the answer is no older than the last change.
   * @param deadline in milliseconds of `Date.now()`.
   * @throws {StatusError} UNAVAILABLE when there is no such answer in time.
   */
  async ask(sha256: Buffer, deadline: number): Promise<KnownCaller | undefined> {
    const { log } = this.#authority;
    try {
      for (;;) {
        const answer = await this.#resolve(sha256, deadline);
        if (answer !== undefined && answer.revision >= this.changedAt) {
          return answer.caller && new KnownCaller(sha256.toString("hex"), answer.caller, this.changes);
        }
        await pause(answer === undefined ? UNREACHABLE_PAUSE : RETRY_PAUSE);
      }
    } catch (error) {
      log.warn({ err: error }, "a token could not be looked up at the authority");
      throw authorityUnreachable(error);
    }
  }

  /** The authority's answer; undefined where it is not reached and there is time to ask again. */
  async #resolve(sha256: Buffer, deadline: number): Promise<ResolveResponse | undefined> {
    const { channel, metadata, admission } = this.#authority;
    try {
      return await repeated(channel, PolicyService.resolve, { sha256 }, { metadata, admission, deadline });
    } catch (error) {
      const isRestart = error instanceof StatusError && error.code === Code.UNAVAILABLE;
      if (!isRestart || Date.now() + UNREACHABLE_PAUSE >= deadline) throw error;
      return undefined;
    }
  }

  /** Notes that a kept caller is still right: those that change are not kept. */
  confirm(caller: KnownCaller): void {
    caller.confirmedAt = this.changes;
  }

  /** Whether nothing has changed about any caller since this one was found. */
  isCurrent(caller: KnownCaller): boolean {
    return caller.confirmedAt === this.changes;
  }

  forget(revision: bigint, changed: (caller: KnownCaller) => boolean): void {
    this.changedAt = revision;
    this.changes++;
    this.#known.deleteWhere(changed);
  }

  /** Forgets everything, as the state of the given revision comes in its place. */
  forgetAll(revision: bigint): void {
    this.forget(revision, () => true);
    this.#unknown.clear();
  }

  noteUse(caller: KnownCaller): void {
    if (!caller.reportUse || caller.noted || this.#used.length >= MAX_USED) return;
    caller.noted = true;
    this.#used.push(caller);
  }

  /** The SHA-256 of each key used since this was last asked. */
  takeUsed(): Buffer[] {
    const used = this.#used;
    this.#used = [];
    return used.map((caller) => {
      caller.noted = false;
      return Buffer.from(caller.sha256, "hex");
    });
  }
}

/** Whether a text can be a bearer token: one with its checksum, and not a refresh token. */
function isBearer(text: string): boolean {
  return !text.startsWith("ptr_") && isToken(text);
}
