/** Tells the operator once that the store cannot be relied on, and once that it can again. Each ping of a guard asks it. */
import type { Logger } from "pino";
import { LostHistoryError } from "./change-log.js";

interface Options {
  readonly log: Logger;
  /** Milliseconds by the monotonic clock. */
  readonly now: () => number;
}

/** Whether the store answered the last time. */
export class StoreWatch {
  readonly #options: Options;
  /** Since when it has not. */
  #since: number | undefined;
  #said = "";

  constructor(options: Options) {
    this.#options = options;
  }

  /** Runs what the store is needed for, and notes whether it failed. @throws what it throws. */
  async run(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    if (this.#since === undefined) return;
    const seconds = Math.round((this.#options.now() - this.#since) / 1000);
    this.#options.log.warn(`the store answers again, after ${seconds} s: guards get leases again`);
    this.#since = undefined;
    this.#said = "";
  }

  #failed(error: unknown): void {
    const { log, now } = this.#options;
    const cause = (error as Error).cause ?? error;
    const said = cause instanceof LostHistoryError ? cause.message : "the store does not answer: guards get no leases";
    this.#since ??= now();
    if (said !== this.#said) log.error({ err: cause }, said);
    this.#said = said;
  }
}
