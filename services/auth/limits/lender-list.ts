/**
 * Keeps the list of lenders in the log: this authority joins it when the first limit exists, leaves
 * it when it stops, and removes authorities whose lease records are gone.
 *
 * On a store that one authority uses at a time, the list is empty.
 */
import type { Logger } from "pino";
import { type Journal, PORTICO } from "../log/changelog/journal.js";
import type { State } from "../log/state/state.js";

/** A lender whose lease record was missing this often is gone. */
const MISSED = 2;

interface Options {
  readonly journal: Pick<Journal, "state" | "commit" | "follow">;
  /** This authority; empty for the only one. */
  readonly id: string;
  /** The lenders that have a lease record now, without this authority; undefined if it has none. */
  readonly others: () => ReadonlySet<string> | undefined;
  /** How often to look, in milliseconds. */
  readonly intervalMs: number;
  readonly log: Logger;
}

export class LenderList {
  readonly #options: Options;
  readonly #timer: NodeJS.Timeout;
  readonly #unfollow: () => void;
  /** How often a lender was missing, by ID. */
  readonly #missed = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #closed = false;

  constructor(options: Options) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), options.intervalMs).unref();
    this.#unfollow = options.journal.follow({ changed: () => this.#join(), replaced: () => this.#join() });
    this.#join();
  }

  /**
   * Leaves the list, so that others need not find out that this authority is gone. Called when the
   * authority begins to stop: it serves its guards until others lend.
   */
  leave(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    this.#unfollow();
    this.#writing = this.#writing.then(() => this.#leave());
  }

  /** Leaves the list, if that was not done before. */
  async close(): Promise<void> {
    this.leave();
    await this.#writing;
  }

  async #leave(): Promise<void> {
    const { id, journal } = this.#options;
    if (id !== "" && journal.state.limits.lenders.ids.includes(id)) await this.#write(() => true, new Set([id]));
  }

  /** Joins at once where a limit was just created: its first calls wait for a lender. */
  #join(): void {
    const { journal, id, others } = this.#options;
    const { ids } = journal.state.limits.lenders;
    const isMissing = id === "" ? ids.length > 0 : !ids.includes(id) && others() !== undefined;
    if (isMissing && journal.state.limits.size > 0) this.#begin(new Set(id === "" ? ids : []));
  }

  #look(): void {
    const { journal, id, others } = this.#options;
    const present = others();
    if (id === "" || present === undefined) return;
    for (const one of journal.state.limits.lenders.ids) {
      if (one === id || present.has(one)) this.#missed.delete(one);
      else this.#missed.set(one, (this.#missed.get(one) ?? 0) + 1);
    }
    const gone = new Set([...this.#missed].filter(([, times]) => times >= MISSED).map(([one]) => one));
    for (const one of gone) this.#missed.delete(one);
    if (gone.size > 0) this.#begin(gone);
    else this.#join();
  }

  #begin(gone: ReadonlySet<string>): void {
    if (this.#isWriting || this.#closed) return;
    this.#isWriting = true;
    this.#writing = this.#write((state) => state.limits.size > 0 && this.#options.id !== "", gone).finally(() => {
      this.#isWriting = false;
    });
  }

  async #write(joins: (state: State) => boolean, gone: ReadonlySet<string>): Promise<void> {
    const { journal, id, log } = this.#options;
    try {
      await journal.commit(PORTICO, (state) => {
        const { ids } = state.limits.lenders;
        const left = ids.filter((one) => !gone.has(one));
        const next = joins(state) && !gone.has(id) && !left.includes(id) ? [...left, id] : left;
        if (next.length === ids.length && next.every((one) => ids.includes(one))) return [];
        return [{ $case: "lendersSet", value: { ids: next } }];
      });
    } catch (err) {
      log.debug({ err }, "the list of authorities that lend could not be changed; trying again");
    }
  }
}
