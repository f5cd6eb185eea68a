/**
 * Changes that the authority refuses because of its store or its clock, although the changes are
 * valid. The response names only the kind of problem, no files and no servers. The operator finds
 * the rest in the log, in `/readyz` and in the metrics.
 */

import type { Logger } from "pino";
import { Code, StatusError } from "../../../../src/errors.js";
import { StoreError } from "../../../../src/store/store.js";

/** Why changes are refused, as the metrics name it. */
export type ChangeRefusal = "clock" | "disk_full" | "read_only" | "store";

/** Messages while the store accepts no changes: for callers and for the operator. */
const WORDS: Readonly<Record<Exclude<ChangeRefusal, "clock">, { readonly caller: string; readonly operator: string }>> =
  {
    disk_full: {
      caller: "The authority changes nothing while the disk of its store is full; its operator must make room there",
      operator: "changes are refused: the disk of the store is full. Make room on it",
    },
    read_only: {
      caller: "The authority changes nothing while its store is read-only; its operator must make it writable",
      operator: "changes are refused: the store is read-only. Make it writable for this process",
    },
    store: {
      caller: "The authority's store does not respond; try again",
      operator: "changes are refused: the store takes none. The log says why",
    },
  };

/** A change is refused because of a problem of the authority. */
export class RefusedError extends StatusError {
  readonly reason: ChangeRefusal;

  constructor(reason: ChangeRefusal, message: string, options?: ErrorOptions) {
    super(Code.UNAVAILABLE, message, options);
    this.reason = reason;
  }
}

const REASONS: readonly ChangeRefusal[] = ["disk_full", "read_only", "clock", "store"];

/** The error for callers when the store fails. */
export function refusedByStore(error: StoreError): RefusedError {
  const { reason = "store" } = error;
  return new RefusedError(reason, WORDS[reason].caller, { cause: error });
}

/** Counts the refused changes, and remembers whether the store accepts changes. */
export class Refusals {
  readonly #log: Logger;
  // Every reason has a count from the start: a rate needs the 0 before the first refusal.
  readonly #counts = new Map<ChangeRefusal, number>(REASONS.map((reason) => [reason, 0]));
  /** Why the store did not accept the last write. */
  #failure: Exclude<ChangeRefusal, "clock"> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** How many changes were refused, by reason. */
  get counts(): Iterable<readonly [reason: string, count: number]> {
    return this.#counts;
  }

  /** Why the store accepts no changes and what to do, for the operator; otherwise undefined. */
  get error(): string | undefined {
    return this.#failure && WORDS[this.#failure].operator;
  }

  count({ reason }: RefusedError): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Records that the store did not accept a write. */
  failed(error: unknown): void {
    if (!(error instanceof StoreError)) return;
    const { reason = "store" } = error;
    if (this.#failure !== reason) this.#log.error({ err: error }, "the store takes no changes: they are refused");
    this.#failure = reason;
  }

  /** Records that the store accepted a write. */
  wrote(): void {
    if (this.#failure !== undefined) this.#log.warn("the store takes changes again");
    this.#failure = undefined;
  }
}
