/**
 * The commits of a process that wait for their turn. Those that wait are made together, in one transaction and with one
 * wait for the disk. A commit whose caller was told that it came too late is not begun.
 */

import { Code, StatusError } from "../errors.js";
import type { CommitOutcome } from "./commit-writes.js";
import type { CommitResult, StoredWrite } from "./store.js";

/** Commits, and characters of their values, that may wait for their turn. */
const MAX_WAITING = 4096;
const MAX_WAITING_LENGTH = 64 * 1024 ** 2;
/** Characters of the values of commits that are made together. */
const MAX_TOGETHER_LENGTH = 8 * 1024 ** 2;

/** How an engine makes commits. */
export interface CommitQueueOptions {
  /** How long a commit may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Writes of the commits that are made together; a single commit may have more. */
  readonly maxTogether: number;
  /**
   * Makes commits in one transaction: all are on disk once it resolves.
   * @returns what became of each
   */
  readonly transact: (commits: readonly (readonly StoredWrite[])[]) => Promise<readonly CommitOutcome[]>;
  /** The error of a commit that did not end in time. @param isBegun whether it may have been made */
  readonly toLateError: (isBegun: boolean) => Error;
}

interface Waiting {
  readonly writes: readonly StoredWrite[];
  readonly length: number;
  isBegun: boolean;
  isOver: boolean;
  settle(outcome: CommitOutcome): void;
}

/** The commits of a process to one store. */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  /** The last of the transactions, which run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /**
   * Makes a commit in its turn.
   * @throws {Error} (rejects) as `transact` and `toLateError` say; RESOURCE_EXHAUSTED while too many commits wait
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

  /** Does something between the transactions. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Commits all that waits, or as much as may be done together, and then the rest in its turn. */
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
