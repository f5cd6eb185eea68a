/**
 * Asks the authority that the guard follows for the callers of tokens. Lookups of the same turn of
 * the event loop go in one message (Policy.BatchResolve). While several messages wait for a
 * response, further lookups are collected for the next message.
 */
import { authorityUnreachable } from "../../call/admission.js";
import { Code, StatusError } from "../../errors.js";
import { type Caller, type EndedKey, PolicyService } from "../../gen/portico/auth/v1/policy.js";
import { type CallOptions, repeated, unary } from "../../rpc/client.js";
import type { AuthorityAccess, FollowedAuthority } from "../follow/authority-access.js";

/** Maximum number of tokens in one message. */
const MAX_BATCH = 1_000;
/**
 * Maximum number of messages without a response. Meanwhile lookups wait, and then go in one
 * message.
 */
const MAX_UNANSWERED = 4;

/** What the authority responded for a token. */
export interface Resolved {
  /** The revision at which it is true. */
  readonly revision: bigint;
  /** Undefined for a token that belongs to no caller. */
  readonly caller: Caller | undefined;
  /** What such a token was, where the authority remembers it. */
  readonly ended?: EndedKey | undefined;
}

/** A response, and the authority that it is from. */
export type Sourced = Resolved & { readonly source: FollowedAuthority };

interface Lookup {
  readonly sha256: Buffer;
  readonly deadlineMonotonicMs: number;
  resolve(resolved: Sourced): void;
  reject(error: unknown): void;
}

/** The lookups of one guard. */
export class Lookups {
  readonly #authority: AuthorityAccess;
  readonly #source: () => FollowedAuthority | undefined;
  #waiting: Lookup[] = [];
  /** Whether the waiting lookups will be sent at the end of this turn. */
  #isTurnOpen = false;
  #unanswered = 0;

  constructor(authority: AuthorityAccess, source: () => FollowedAuthority | undefined) {
    this.#authority = authority;
    this.#source = source;
  }

  /**
   * @param sha256 of the token
   * @param deadlineMonotonicMs in milliseconds of `performance.now()`
   * @throws {StatusError} (rejects) if the authority does not respond, or responds with an error
   */
  ask(sha256: Buffer, deadlineMonotonicMs: number): Promise<Sourced> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sha256, deadlineMonotonicMs, resolve, reject });
      if (this.#isTurnOpen || this.#unanswered >= MAX_UNANSWERED) return;
      this.#isTurnOpen = true;
      setImmediate(() => {
        this.#isTurnOpen = false;
        this.#send();
      });
    });
  }

  /**
   * Whether the authority accepts a JWT as a token.
   * @param deadlineMonotonicMs in milliseconds of `performance.now()`
   * @throws {StatusError} (rejects) UNAVAILABLE if there is no response in time
   */
  async acceptJwt(jwt: string, deadlineMonotonicMs: number): Promise<boolean> {
    const { channel, metadata, admission, log } = this.#authority;
    const options: CallOptions = { metadata, admission, deadlineMonotonicMs };
    try {
      return (await unary(channel, PolicyService.acceptJwt, { jwt }, options)).accepted;
    } catch (error) {
      // An authority of an earlier version accepts no JWTs.
      if (error instanceof StatusError && error.code === Code.UNIMPLEMENTED) return false;
      log.warn({ err: error }, "a JWT could not be verified at the authority");
      throw authorityUnreachable(error);
    }
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#unanswered < MAX_UNANSWERED) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      this.#unanswered++;
      void this.#askBatch(batch)
        .catch((error) => {
          for (const { reject } of batch) reject(error);
        })
        .then(() => {
          this.#unanswered--;
          this.#send();
        });
    }
  }

  async #askBatch(batch: readonly Lookup[]): Promise<void> {
    const { metadata, admission } = this.#authority;
    const source = this.#source();
    if (source === undefined) throw new StatusError(Code.UNAVAILABLE, "no authority is followed");
    const { channel, signal } = source;
    const deadlineMonotonicMs = Math.min(...batch.map((lookup) => lookup.deadlineMonotonicMs));
    const request = { sha256: batch.map(({ sha256 }) => sha256) };
    const options: CallOptions = { metadata, admission, deadlineMonotonicMs, signal };
    const asking = repeated(channel, PolicyService.batchResolve, request, options);
    const { revision, results } = await asking.catch((error) => {
      throw signal.aborted ? new StatusError(Code.UNAVAILABLE, "the authority is no longer followed") : error;
    });
    if (results.length === 0) throw new StatusError(Code.INTERNAL, "the authority resolved no token of a batch");
    for (const [index, result] of results.entries()) batch[index]?.resolve({ revision, source, ...result });
    this.#waiting.unshift(...batch.slice(results.length));
  }
}
