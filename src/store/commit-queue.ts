/**
 * A queue of commits of one process. The commits that wait in it are made together, in one
 * transaction and with one flush to disk. If a commit waits too long, its caller gets an error and
 * the commit is never begun.
 */

import { Code, StatusError } from "../errors.js";
import type { CommitOutcome } from "./commit-writes.js";
import type { CommitResult, StoredWrite } from "./store.js";

/** The maximum number of waiting commits, and of characters in their values. */
const MAX_WAITING = 4096;
const MAX_WAITING_LENGTH = 64 * 1024 ** 2;
/** The maximum number of characters in the values of commits that are made together. */
const MAX_TOGETHER_LENGTH = 8 * 1024 ** 2;

/** How an engine makes commits. */
export interface CommitQueueOptions {
  /** The maximum time for a commit, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * The maximum number of writes in commits that are made together. A single commit may have more.
   */
  readonly maxTogether: number;
  /**
   * Makes the commits in one transaction. When it resolves, all of them are made, and on disk if
   * they are durable.
   * @returns the outcome of each commit
   */
  readonly transact: (commits: readonly (readonly StoredWrite[])[]) => Promise<readonly CommitOutcome[]>;
  /**
   * The error for a commit that did not end in time.
   * @param isBegun whether it may have been made
   */
  readonly toLateError: (isBegun: boolean) => Error;
}

interface Waiting {
  readonly writes: readonly StoredWrite[];
  readonly length: number;
  isBegun: boolean;
  isOver: boolean;
  settle(outcome: CommitOutcome): void;
}

/** Commits of a process to one store, made in their order. */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  /** The last transaction of the chain; transactions run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /**
   * Queues a commit and makes it in its turn.
   * @throws {Error} (rejects) the errors of `transact` and `toLateError`; RESOURCE_EXHAUSTED while
   *   too many commits wait
   */
  async commit(writes: readonly StoredWrite[]): Promise<CommitResult> {
    let length = 0;
    for (const write of writes) if (write.kind === "set") length += write.value.length;
    if (this.#waiting.length >= MAX_WAITING || this.#waitingLength + length > MAX_WAITING_LENGTH) {
      throw new StatusError(Code.RESOURCE_EXHAUSTED, "too many writes are waiting for the store; try again");
    }
    const { timeoutMs, toLateError } = this.#options;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        writes,
        length,
        isBegun: false,
        isOver: false,
        settle(outcome) {
          waiting.isOver = true;
          clearTimeout(timer);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result);
        },
      };
      const timer = setTimeout(() => waiting.settle({ error: toLateError(waiting.isBegun) }), timeoutMs);
      this.#waiting.push(waiting);
      this.#waitingLength += length;
      if (this.#waiting.length === 1) this.inTurn(() => this.#commitTogether());
    });
  }

  /** Runs `act` between two transactions. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Commits as many waiting commits as fit in one transaction, then queues the rest. */
  async #commitTogether(): Promise<void> {
    const commits = this.#take().filter(({ isOver }) => !isOver);
    if (this.#waiting.length > 0) this.inTurn(() => this.#commitTogether());
    if (commits.length === 0) return;
    for (const commit of commits) commit.isBegun = true;
    let outcomes: readonly CommitOutcome[];
    try {
      outcomes = await this.#options.transact(commits.map(({ writes }) => writes));
    } catch (error) {
      outcomes = commits.map(() => ({ error }));
    }
    for (const [index, commit] of commits.entries()) commit.settle(outcomes[index]!);
  }

  #take(): Waiting[] {
    let [count, writes, length] = [0, 0, 0];
    for (const waiting of this.#waiting) {
      writes += waiting.writes.length;
      length += waiting.length;
      if (count > 0 && (writes > this.#options.maxTogether || length > MAX_TOGETHER_LENGTH)) break;
      count++;
    }
    const taken = this.#waiting.splice(0, count);
    for (const waiting of taken) this.#waitingLength -= waiting.length;
    return taken;
  }
}
