/**
 * Follows a source for as long as a process runs: the authority's policy, the registry's services,
 * a registration, or the contract of a service. When an attempt ends, the next one begins after a
 * pause. The pause doubles with each consecutive failure. It is shortened at random, so that
 * processes that lost the same source do not return to it at the same moment.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, StatusError } from "./errors.js";

/** One attempt to follow the source. */
export interface FollowAttempt {
  /** Aborted when following stops, or when the source has not responded in time. */
  readonly signal: AbortSignal;
  /**
   * To be called whenever the source responds. It ends the deadline of the first response, and the
   * next failure counts as the first one.
   */
  responded(): void;
}

/** An attempt that ended without being stopped. */
interface Failure {
  /**
   * What the attempt threw; DEADLINE_EXCEEDED if there was no response in time, UNAVAILABLE if the
   * source ended it.
   */
  readonly error: Error;
  /** Whether the previous failure had the same message, and there was no response between them. */
  readonly repeated: boolean;
  /** The pause until the next attempt, in milliseconds. */
  readonly delayMs: number;
}

/** What is followed, and how failures are handled. */
interface FollowOptions {
  /** The name of the source, as in "the registry did not respond within 10 s". */
  readonly source: string;
  /** Follows the source until it ends or fails. */
  readonly attempt: (attempt: FollowAttempt) => Promise<void>;
  /** Notified of each attempt that has ended, before the pause. */
  readonly onFailure: (failure: Failure) => void;
  /**
   * The longest pause after the first failure, in milliseconds; it doubles with each consecutive
   * failure.
   */
  readonly firstDelayMs: number;
  /** The longest pause, in milliseconds. A function is called after each failure. */
  readonly maxDelayMs: number | (() => number);
  /** How long the first response to an attempt may take, in milliseconds; default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Waits between attempts; default: for the given time, or until `signal` is aborted. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /**
   * Stops following when aborted: the signal of the current attempt is aborted too, and no other
   * attempt begins.
   */
  readonly signal: AbortSignal;
}

/**
 * Resolves when following was stopped and the last attempt has ended. The first attempt begins at
 * once.
 */
export async function follow(options: FollowOptions): Promise<void> {
  const { onFailure, firstDelayMs, maxDelayMs, pause = sleepUntil, signal } = options;
  let failures = 0;
  let lastMessage: string | undefined;
  const onResponse = (): void => {
    failures = 0;
    lastMessage = undefined;
  };
  while (!signal.aborted) {
    const error = await tryOnce(options, onResponse);
    if (signal.aborted) return;
    const maxMs = typeof maxDelayMs === "number" ? maxDelayMs : maxDelayMs();
    const delayMs = backOff(failures++, firstDelayMs, maxMs);
    onFailure({ error, repeated: error.message === lastMessage, delayMs });
    lastMessage = error.message;
    await pause(delayMs, signal);
  }
}

/**
 * The pause before the next attempt, in milliseconds: at random from half to all of the longest
 * pause after this number of failures.
 * @param failures number of consecutive failures before the last one
 */
export function backOff(failures: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** failures) * (0.5 + Math.random() / 2);
}

/** Resolves with the reason why the attempt ended. */
async function tryOnce(options: FollowOptions, onResponse: () => void): Promise<Error> {
  const { source, attempt, timeoutMs, signal } = options;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal.addEventListener("abort", end);
  const deadline = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
  const responded = (): void => {
    clearTimeout(deadline);
    onResponse();
  };
  const ended = new StatusError(Code.UNAVAILABLE, `${source} ended the stream`);
  const error = await attempt({ signal: ending.signal, responded }).then(
    () => ended,
    (thrown: Error) => thrown,
  );
  clearTimeout(deadline);
  signal.removeEventListener("abort", end);
  if (signal.aborted || !ending.signal.aborted) return error;
  return new StatusError(Code.DEADLINE_EXCEEDED, `${source} did not respond within ${Number(timeoutMs) / 1000} s`);
}

function sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => {});
}
