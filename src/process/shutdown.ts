/**
 * Closes what a process has opened, in the opposite order: at its stop, and where its start fails. A part whose closing
 * throws or hangs keeps neither the others nor the process open.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "../log.js";

/** Closes one part. `drainMs` is what is left of the time in which calls may finish. */
export type Close = (drainMs: number) => unknown;

/** How long closing may take beyond the time to drain, in milliseconds. */
const CLOSE_MS = 3_000;
/** The same where a start has failed: no calls are being served yet. */
const FAILED_START_MS = 500;

export class Shutdown {
  readonly #log: Logger;
  readonly #closers: Close[] = [];
  readonly #listeners: (() => void)[] = [];
  #closing = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Adds what closes a part. After closing has begun, as where a start was given up, the part is closed at once. */
  add(close: Close): void {
    if (this.#closing) void this.#run(close, 0);
    else this.#closers.push(close);
  }

  /** The same for a part that is closed after all others. */
  addLast(close: Close): void {
    if (this.#closing) void this.#run(close, 0);
    else this.#closers.unshift(close);
  }

  /** Calls the listener when the process has been told to stop, before anything is closed. */
  onBegin(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Stops in good order: calls the listeners, goes on serving for `noticeMs`, then closes everything.
   * @param drainMs in all, notice included; calls in flight after that are ended.
   */
  async run({ noticeMs, drainMs }: { readonly noticeMs: number; readonly drainMs: number }): Promise<void> {
    const until = performance.now() + drainMs;
    for (const listener of this.#listeners) listener();
    if (noticeMs > 0) await wait(noticeMs);
    await this.#close(until, until + CLOSE_MS);
  }

  /** Closes everything where a start has failed, within half a second. */
  abandonStart(): Promise<void> {
    const now = performance.now();
    return this.#close(now, now + FAILED_START_MS);
  }

  async #close(drainUntil: number, giveUpAt: number): Promise<void> {
    this.#closing = true;
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      const now = performance.now();
      const closed = this.#run(close, Math.max(0, drainUntil - now));
      const timer = new AbortController();
      const late = wait(Math.max(0, giveUpAt - now), undefined, { signal: timer.signal }).catch(() => {});
      await Promise.race([closed, late]);
      timer.abort();
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
