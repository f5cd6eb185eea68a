/** Drops records of the audit trail whose time has passed, and watches how large it is. An authority does both regularly. */
import type { Logger } from "pino";
import type { AuditTrail } from "./audit-trail.js";

/** How often, in milliseconds. */
const INTERVAL_MS = 10 * 60_000;

/** How long the audit trail is kept, and how large it may be. */
export interface AuditLimits {
  /** How long records are kept, in milliseconds. */
  readonly retentionMs: number;
  /** From how many bytes on the operator is told. */
  readonly maxBytes: number;
}

interface Options {
  readonly limits: AuditLimits;
  readonly trail: AuditTrail;
  /** The authority's time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Logger;
}

/** The keeper of the audit trail, from `open` until `close`. */
export class AuditKeeper {
  readonly #options: Options;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #size = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** That the trail is too large and what to do, in words for the operator; undefined where it is not. */
  get error(): string | undefined {
    const { maxBytes } = this.#options.limits;
    if (this.#size < maxBytes) return undefined;
    return (
      `the store with the audit trail takes ${gibibytes(this.#size)}, and PORTICO_AUDIT_MAX is ${gibibytes(maxBytes)}. Changes go on. Make room and ` +
      "raise PORTICO_AUDIT_MAX, or keep records for a shorter time (PORTICO_AUDIT_RETENTION)"
    );
  }

  /** Does both now, and regularly until `close`. */
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

  /** Drops what is due, and measures. Resolves also where that is not possible: the next run makes up for it. */
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
