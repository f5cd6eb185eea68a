/**
 * Follows a source for as long as a process lives: the authority's policy, the registry's services, a registration, the
 * contract of a service. An attempt that ends is made again after a pause that doubles with each failure in a row. A
 * random part of it is left out, so that those who lost the same source do not come back to it at the same moment.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, StatusError } from "./errors.js";

/** One attempt to follow the source. */
export interface FollowAttempt {
  /** Aborted when following stops, or when the source has not answered in time. */
  readonly signal: AbortSignal;
  /** To be called whenever the source answers: ends the deadline of the first answer, and the next failure counts as the first. */
  responded(): void;
}

/** An attempt that has ended without being stopped. */
interface Failure {
  /** What the attempt has thrown; DEADLINE_EXCEEDED without a response in time, UNAVAILABLE where the source ended it. */
  readonly error: Error;
  /** Whether the failure before it, with no answer between them, had the same message. */
  readonly repeated: boolean;
  /** The pause until the next attempt, in milliseconds. */
  readonly delayMs: number;
}

/** What is followed, and how failures are met. */
interface FollowOptions {
  /** What is followed, as in "the registry did not respond within 10 s". */
  readonly source: string;
  /** Follows the source until it ends or fails. */
  readonly attempt: (attempt: FollowAttempt) => Promise<void>;
  /** Told of each attempt that has ended, before the pause. */
  readonly onFailure: (failure: Failure) => void;
  /** The longest pause after the first failure, in milliseconds; doubled for each that follows it. */
  readonly firstDelayMs: number;
  /** The longest pause, in milliseconds. A function is asked after each failure. */
  readonly maxDelayMs: number | (() => number);
  /** How long the source may take to answer an attempt for the first time, in milliseconds; default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Waits between attempts; default: for the given time, or until `signal` is aborted. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** Stops following when aborted: the attempt's signal is aborted too, and no other one begins. */
  readonly signal: AbortSignal;
}

/** Resolves when following was stopped and the last attempt has ended. The first attempt begins at once. */
export async function follow(options: FollowOptions): Promise<void> {
  const { onFailure, firstDelayMs, maxDelayMs, pause = sleepUntil, signal } = options;
  let failures = 0;
  let lastMessage: string | undefined;
  const onAnswer = (): void => {
    failures = 0;
    lastMessage = undefined;
  };
  while (!signal.aborted) {
    const error = await tryOnce(options, onAnswer);
    if (signal.aborted) return;
    const maxMs = typeof maxDelayMs === "number" ? maxDelayMs : maxDelayMs();
    const delayMs = backOff(failures++, firstDelayMs, maxMs);
    onFailure({ error, repeated: error.message === lastMessage, delayMs });
    lastMessage = error.message;
    await pause(delayMs, signal);
  }
}

/**
 * The pause before the next attempt: half of the longest one for so many failures to all of it, in milliseconds.
 * @param failures how many attempts have failed in a row before the last one
 */
export function backOff(failures: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** failures) * (0.5 + Math.random() / 2);
}

/** Resolves with the reason for which the attempt has ended. */
async function tryOnce(options: FollowOptions, onAnswer: () => void): Promise<Error> {
  const { source, attempt, timeoutMs, signal } = options;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal.addEventListener("abort", end);
  const deadline = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
  const responded = (): void => {
    clearTimeout(deadline);
    onAnswer();
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
