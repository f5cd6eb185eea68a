/** Logs once that the store fails, and once that it works again. Each ping uses the store. */
import type { Logger } from "pino";
import { LostHistoryError } from "./change-log.js";

interface Options {
  readonly log: Logger;
  /** Milliseconds by the monotonic clock. */
  readonly now: () => number;
  /** Aborted when the authority is about to stop. What fails from then on is not logged. */
  readonly stopping: AbortSignal;
}

/** Whether the last use of the store succeeded. */
export class StoreWatch {
  readonly #options: Options;
  /** When the store began to fail; undefined while it works. */
  #since: number | undefined;
  #logged = "";

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Runs an operation on the store, and remembers whether it failed.
   * @throws the operation's error
   */
  async run(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    if (this.#since === undefined) return;
    const seconds = Math.round((this.#options.now() - this.#since) / 1000);
    this.#options.log.warn(`the store responds again, after ${seconds} s: guards get leases again`);
    this.#since = undefined;
    this.#logged = "";
  }

  #failed(error: unknown): void {
    const { log, now, stopping } = this.#options;
    if (stopping.aborted) return;
    const cause = (error as Error).cause ?? error;
    const message =
      cause instanceof LostHistoryError ? cause.message : "the store does not respond: guards get no leases";
    this.#since ??= now();
    if (message !== this.#logged) log.error({ err: cause }, message);
    this.#logged = message;
  }
}
