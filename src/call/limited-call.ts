/**
 * What limits of calls (docs/limits.md) mean for one admitted call. src/limits decides; the ports
 * know limits only by these types.
 */
import { Code, StatusError, withoutStack } from "../errors.js";
import { QuotaFailure, QuotaFailure_Violation, RetryInfo } from "../gen/google/rpc/error_details.js";

/**
 * What is left of one budget, for the headers `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
export interface LimitState {
  /** The ID of the limit. */
  readonly limit: string;
  /** The number of the rate, of the quota, or of calls at once. */
  readonly quota: number;
  /** The unit of the rate in seconds; undefined for a quota and for calls at once. */
  readonly window: number | undefined;
  /** Whether the budget is the number of calls at once. */
  readonly concurrent: boolean;
  /** How many calls may still come. */
  readonly remaining: number;
  /** After how many seconds there is more; undefined for calls at once. */
  readonly reset: number | undefined;
}

/** An admitted call that limits count. */
export interface LimitedCall {
  /** The budget with the least left in proportion; undefined if only shadows count the call. */
  readonly state: LimitState | undefined;
  /**
   * Counts one more message of the client.
   * @throws {LimitedError} (or rejects with one)
   */
  message(): void | Promise<void>;
  /** Must be called once, when the call has ended. */
  end(): void;
}

/** What `Guard.count` needs to know about a call, beside its admission. */
export interface CountedCall {
  /** The client's address, as the ports determine it. */
  readonly address: string;
  /**
   * Whether the call came with a caller assertion. Then the guard that made the assertion has
   * counted it, unless a service calls for itself.
   */
  readonly asserted: boolean;
}

/** A call that is refused because a limit of calls is used up. */
export class LimitedError extends StatusError {
  readonly state: LimitState;
  /** After how many seconds to try again, at least 1. */
  readonly retryAfter: number;

  constructor(message: string, state: LimitState, retryAfter: number) {
    super(Code.RESOURCE_EXHAUSTED, message, { details: detailsOf(message, state, retryAfter) });
    this.state = state;
    this.retryAfter = retryAfter;
  }
}

/** @param words such as `Limit ci allows key deploy 100 calls a second` */
export function limited(words: string, state: LimitState, retryAfter: number): LimitedError {
  return withoutStack(() => new LimitedError(`${words}; try again in ${inWords(retryAfter)}`, state, retryAfter));
}

function inWords(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.ceil(seconds / 3600)} h`;
  return `${Math.ceil(seconds / 86_400)} days`;
}

const TYPE = "type.googleapis.com/google.rpc.";

function detailsOf(description: string, { limit }: LimitState, retryAfter: number) {
  const failure = { violations: [QuotaFailure_Violation.create({ subject: `limit:${limit}`, description })] };
  const info = { retryDelay: { seconds: BigInt(retryAfter), nanos: 0 } };
  return [
    { typeUrl: `${TYPE}QuotaFailure`, value: QuotaFailure.encode(failure).finish() },
    { typeUrl: `${TYPE}RetryInfo`, value: RetryInfo.encode(info).finish() },
  ];
}
