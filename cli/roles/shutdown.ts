/**
 * What a process has opened, closed in the opposite order: at its stop, and where its start fails. A part whose closing
 * throws or hangs keeps neither the others nor the process.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "../../src/log.js";

/** Closes one part. `drainMs` is what is left of the time in which calls may finish. */
export type Close = (drainMs: number) => unknown;

/** How long closing may take beyond the time to drain, in milliseconds. */
const CLOSE_MS = 3_000;
/** The same where a start has failed: nobody is being served yet. */
const FAILED_START_MS = 500;

export class Opened {
  readonly #log: Logger;
  readonly #closers: Close[] = [];
  readonly #onLeave: (() => void)[] = [];
  #closing = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whoever opens a part after closing has begun, as a start that was given up may, has it closed at once. */
  own(close: Close): void {
    if (this.#closing) void this.#run(close, 0);
    else this.#closers.push(close);
  }

  /** What is to be closed after everything else. */
  ownLast(close: Close): void {
    if (this.#closing) void this.#run(close, 0);
    else this.#closers.unshift(close);
  }

  /** Runs when the process has been told to stop, before anything is closed. */
  onLeave(leave: () => void): void {
    this.#onLeave.push(leave);
  }

  /**
   * Stops in good order: says that it does, goes on for `noticeMs`, then closes everything.
   * @param drainMs in all, notice included; what is still in flight then is ended.
   */
  async leave({ noticeMs, drainMs }: { readonly noticeMs: number; readonly drainMs: number }): Promise<void> {
    const until = performance.now() + drainMs;
    for (const leave of this.#onLeave) leave();
    if (noticeMs > 0) await wait(noticeMs);
    await this.#close(until, until + CLOSE_MS);
  }

  /** Closes everything where a start has failed, within half a second. */
  abandon(): Promise<void> {
    const now = performance.now();
    return this.#close(now, now + FAILED_START_MS);
  }

  async #close(drainUntil: number, giveUpAt: number): Promise<void> {
    this.#closing = true;
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      const now = performance.now();
      const closed = this.#run(close, Math.max(0, drainUntil - now));
      const given = new AbortController();
      const late = wait(Math.max(0, giveUpAt - now), undefined, { signal: given.signal }).catch(() => {});
      await Promise.race([closed, late]);
      given.abort();
    }
  }

  async #run(close: Close, drainMs: number): Promise<void> {
    try {
      await close(drainMs);
    } catch (err) {
      this.#log.error({ err }, "a part could not be closed");
    }
  }
}
