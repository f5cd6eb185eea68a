/**
 * Reports to the other authorities on a shared store which revision all guards of this authority
 * have applied. So a change made there need not wait for the leases granted here. At most one
 * report is being written; changes made meanwhile share the next one.
 */
import type { Logger } from "pino";
import { coalesced } from "../changelog/coalesced.js";
import type { Journal, StateListener } from "../changelog/journal.js";
import type { Leases } from "./leases.js";
import type { SharedLeaseRecords } from "./shared-lease-records.js";

/** Delay before a report that could not be written is written again, in milliseconds. */
const RETRY = 200;

interface Options {
  readonly journal: Pick<Journal, "state" | "checksum" | "follow">;
  readonly leases: Pick<Leases, "settledHere">;
  readonly leaseRecords: Pick<SharedLeaseRecords, "report">;
  readonly log: Logger;
}

/** Follows the journal and the guards until it is closed. */
export class Reports implements StateListener {
  readonly #options: Options;
  readonly #unfollow: () => void;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: Options) {
    this.#options = options;
    this.#unfollow = options.journal.follow(this);
    this.changed();
  }

  changed(): void {
    void this.#write();
  }

  replaced(): void {
    this.changed();
  }

  close(): void {
    this.#closed = true;
    this.#unfollow();
    clearTimeout(this.#retry);
  }

  readonly #write = coalesced(async () => {
    const { journal, leases, leaseRecords, log } = this.#options;
    const { checksum, state } = journal;
    const { revision } = state;
    await leases.settledHere(revision);
    if (this.#closed) return;
    try {
      await leaseRecords.report(revision, checksum);
    } catch (error) {
      log.debug({ err: error }, "what guards have applied could not be reported to other authorities; trying again");
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.changed(), RETRY).unref();
    }
  });
}
