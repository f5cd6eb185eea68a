/**
 * Since when this authority lends the tokens of a subject.
 *
 * The authorities that lend are a list in the log. Where the list has changed, this authority lends
 * the subjects that it gained only once the change is settled: then each guard has applied it and
 * dropped the loans of former lenders, or has no lease. It lends the subjects that it has had
 * before all the time.
 */
import { lenderOf } from "../../../src/limits/lenders.js";

/** How many lists are remembered. A subject that was kept for longer counts as gained then. */
const MAX_LISTS = 32;

interface List {
  readonly revision: number;
  readonly ids: readonly string[];
  /** When it was settled, by the monotonic clock; undefined until then. */
  settled: number | undefined;
}

export class Appointments {
  readonly #own: string;
  #lists: List[] = [];

  /** @param own the ID of this authority; empty for the only authority */
  constructor(own: string) {
    this.#own = own;
  }

  /** The revision that last changed the list. */
  get revision(): number {
    return this.#lists.at(-1)?.revision ?? 0;
  }

  /** The list has changed. Whoever calls this calls `settle` once that is settled. */
  change(revision: number, ids: readonly string[]): void {
    if (revision === this.revision && this.#lists.length > 0) return;
    this.#lists = [...this.#lists, { revision, ids, settled: undefined }].slice(-MAX_LISTS);
  }

  /** Forgets all lists: changes may have been missed. */
  reset(): void {
    this.#lists = [];
  }

  settle(revision: number, now: number): void {
    const list = this.#lists.find((one) => one.revision === revision);
    if (list !== undefined) list.settled ??= now;
  }

  /**
   * Since when this authority lends the subject, by the monotonic clock, which may be later than
   * now; undefined if it does not, or the change by which it does is not settled.
   */
  since(subject: string): number | undefined {
    let first: List | undefined;
    for (const list of this.#lists.toReversed()) {
      if (lenderOf(subject, list.ids) !== this.#own) break;
      first = list;
    }
    return first?.settled;
  }
}
