/** Regularly deletes old records of the audit trail, and checks how large the trail is. */
import type { Logger } from "pino";
import type { AuditTrail } from "./audit-trail.js";

/** How often the keeper runs, in milliseconds. */
const INTERVAL_MS = 10 * 60_000;

/** How long the audit trail is stored, and its maximum size. */
export interface AuditLimits {
  /** How long records are stored, in milliseconds. */
  readonly retentionMs: number;
  /** From this size on, in bytes, the operator is warned. */
  readonly maxBytes: number;
}

interface Options {
  readonly limits: AuditLimits;
  readonly trail: AuditTrail;
  /** The authority's time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Runs from `open` until `close`. */
export class AuditKeeper {
  readonly #options: Options;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #size = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** A message for the operator if the trail is too large; otherwise undefined. */
  get error(): string | undefined {
    const { maxBytes } = this.#options.limits;
    if (this.#size < maxBytes) return undefined;
    return (
      `the store with the audit trail takes ${gibibytes(this.#size)}, and PORTICO_AUDIT_MAX is ${gibibytes(maxBytes)}. Changes go on. Make room and ` +
      "raise PORTICO_AUDIT_MAX, or keep records for a shorter time (PORTICO_AUDIT_RETENTION)"
    );
  }

  /** Runs `keep` now, and regularly until `close`. */
  open(): this {
    const run = (): void => {
      this.#running ??= this.keep().finally(() => {
        this.#running = undefined;
      });
    };
    this.#timer = setInterval(run, INTERVAL_MS).unref();
    run();
    return this;
  }

  /** Deletes old records, and measures the size. Resolves even if that fails: it will run again. */
  async keep(): Promise<void> {
    const { trail, limits, now, log } = this.#options;
    try {
      await trail.dropBefore(now() - limits.retentionMs, this.#closing.signal);
      this.#size = await trail.size();
    } catch (error) {
      if (!this.#closing.signal.aborted) log.warn({ err: error }, "the audit trail could not be tidied; trying again");
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#running;
  }
}

function gibibytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(2)} GiB`;
}
