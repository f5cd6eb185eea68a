/** Waits for the signal that stops a process. */
import { CommandError } from "../terminal/exit.js";

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Waits for a start.
 * @throws {CommandError} when the process is stopped first.
 */
export function unlessStopped<T>(start: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = aborted(signal).then(() => Promise.reject(new CommandError("Stopped before it was ready")));
  return Promise.race([start, stopped]);
}
