/**
 * Changes that the authority refuses although nothing is wrong with them: because of its store, or its clock. Callers are
 * told that much, without names of files and servers. The operator finds the rest in the log, in `/readyz` and in the metrics.
 */

import type { Logger } from "pino";
import { Code, StatusError } from "../../../../src/errors.js";
import { StoreError } from "../../../../src/store/store.js";

/** Why changes are refused, as the metrics name it. */
export type Reason = "clock" | "disk_full" | "read_only" | "store";

/** What callers are told while the store takes no changes, and what its operator is told. */
const WORDS: Readonly<Record<Exclude<Reason, "clock">, { readonly caller: string; readonly operator: string }>> = {
  disk_full: {
    caller: "The authority changes nothing while the disk of its store is full; its operator must make room there",
    operator: "changes are refused: the disk of the store is full. Make room on it",
  },
  read_only: {
    caller: "The authority changes nothing while its store is read-only; its operator must make it writable",
    operator: "changes are refused: the store is read-only. Make it writable for this process",
  },
  store: {
    caller: "The authority's store does not answer; try again",
    operator: "changes are refused: the store takes none. The log says why",
  },
};

/** A change is refused for a reason that lies at the authority. */
export class RefusedError extends StatusError {
  readonly reason: Reason;

  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(Code.UNAVAILABLE, message, options);
    this.reason = reason;
  }
}

const REASONS: readonly Reason[] = ["disk_full", "read_only", "clock", "store"];

/** What callers are told of a failure of the store. */
export function refusedByStore(error: StoreError): RefusedError {
  const { reason = "store" } = error;
  return new RefusedError(reason, WORDS[reason].caller, { cause: error });
}

/** Counts the changes that an authority refuses, and knows whether its store takes any. */
export class Refusals {
  readonly #log: Logger;
  // Each is told from the start: a rate needs the 0 before the first refusal.
  readonly #counts = new Map<Reason, number>(REASONS.map((reason) => [reason, 0]));
  /** Why the store did not take the last write. */
  #failure: Exclude<Reason, "clock"> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** How many changes were refused, by reason. */
  get counts(): Iterable<readonly [reason: string, count: number]> {
    return this.#counts;
  }

  /** Why the store takes no changes and what to do, in words for the operator; undefined where it takes them. */
  get error(): string | undefined {
    return this.#failure && WORDS[this.#failure].operator;
  }

  /** A change was refused. */
  count({ reason }: RefusedError): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** The store did not take a write. */
  failed(error: unknown): void {
    if (!(error instanceof StoreError)) return;
    const { reason = "store" } = error;
    if (this.#failure !== reason) this.#log.error({ err: error }, "the store takes no changes: they are refused");
    this.#failure = reason;
  }

  /** The store took a write. */
  wrote(): void {
    if (this.#failure !== undefined) this.#log.warn("the store takes changes again");
    this.#failure = undefined;
  }
}
