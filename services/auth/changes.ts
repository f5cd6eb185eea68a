/** Makes changes for the services, and answers when they hold everywhere. */
import type { Author, Decide, Journal } from "./journal.js";
import type { Leases } from "./leases.js";
import type { State } from "./state.js";

export class Changes {
  readonly #journal: Journal;
  readonly #leases: Leases;

  constructor({ journal, leases }: { journal: Journal; leases: Leases }) {
    this.#journal = journal;
    this.#leases = leases;
  }

  get state(): State {
    return this.#journal.state;
  }

  get now(): number {
    return this.#journal.now;
  }

  /** Makes sure that the state has every change that was acknowledged before. */
  sync(): Promise<void> {
    return this.#journal.sync();
  }

  /** Makes a change that bears on decisions: when this resolves, nobody decides without it. */
  async make(author: Author, decide: Decide): Promise<void> {
    await this.settled(await this.issue(author, decide));
  }

  /** Makes a change that takes nothing away, such as a new token, and gives its revision once it is on disk. */
  issue(author: Author, decide: Decide): Promise<number> {
    return this.#journal.commit({ namespace: author.namespace, account: author.account }, decide);
  }

  settled(revision: number): Promise<void> {
    return this.#leases.settled(revision);
  }
}
