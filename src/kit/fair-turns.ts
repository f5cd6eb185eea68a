/**
 * Turns for work that costs much, such as a read of many entries. Few run at once, and the groups that wait take turns: a
 * caller with hundreds of calls delays one of another caller by a turn, not by hundreds.
 */
import { aborted, resourceExhausted } from "../errors.js";

export interface FairTurnsOptions {
  /** Turns that run at once, and how many of them may be of one group. */
  readonly atOnce: number;
  readonly atOnceOfGroup: number;
  /** How many wait at most, and how many of one group. */
  readonly maxWaiting: number;
  readonly maxWaitingOfGroup: number;
  /** What a caller is told whose work may not wait. */
  readonly refusal: string;
}

/** Those of a caller. */
interface Group {
  running: number;
  readonly waiting: (() => void)[];
}

export class FairTurns {
  readonly #options: FairTurnsOptions;
  #running = 0;
  #waiting = 0;
  /** Those with turns, running or waiting. The first that may have a turn is the next. */
  readonly #groups = new Map<string, Group>();

  constructor(options: FairTurnsOptions) {
    this.#options = options;
  }

  /**
   * Does something in a turn of a group. The turn ends when what awaits the result has gone on, so that what it makes of
   * the result is done before the next turn begins.
   * @param call whose signal ends the wait
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED when too many wait; ABORTED when the call ended before its turn
   */
  async run<T>(name: string, call: { readonly signal: AbortSignal }, act: () => Promise<T>): Promise<T> {
    const group = this.#groupOf(name);
    if (!this.#mayBegin(group)) await this.#wait(group, call.signal);
    else this.#begin(group);
    try {
      return await act();
    } finally {
      setImmediate(() => this.#end(name, group));
    }
  }

  #groupOf(name: string): Group {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { running: 0, waiting: [] };
      this.#groups.set(name, group);
    }
    return group;
  }

  #mayBegin(group: Group): boolean {
    return this.#running < this.#options.atOnce && group.running < this.#options.atOnceOfGroup;
  }

  #begin(group: Group): void {
    group.running++;
    this.#running++;
  }

  /** Resolves when the turn has begun. */
  #wait(group: Group, signal: AbortSignal): Promise<void> {
    const { maxWaiting, maxWaitingOfGroup, refusal } = this.#options;
    if (this.#waiting >= maxWaiting || group.waiting.length >= maxWaitingOfGroup) throw resourceExhausted(refusal);
    if (signal.aborted) throw ended();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener("abort", giveUp);
        this.#waiting--;
      };
      const begin = (): void => {
        leave();
        this.#begin(group);
        resolve();
      };
      const giveUp = (): void => {
        leave();
        group.waiting.splice(group.waiting.indexOf(begin), 1);
        reject(ended());
      };
      signal.addEventListener("abort", giveUp);
      group.waiting.push(begin);
      this.#waiting++;
    });
  }

  #end(name: string, group: Group): void {
    group.running--;
    this.#running--;
    if (group.running === 0 && group.waiting.length === 0) this.#groups.delete(name);
    for (const [name, next] of this.#groups) {
      if (!this.#mayBegin(next)) continue;
      const begin = next.waiting.shift();
      if (begin === undefined) continue;
      // To the end: the others have their turns before this group has another.
      this.#groups.delete(name);
      this.#groups.set(name, next);
      begin();
      return;
    }
  }
}

function ended() {
  return aborted("the call ended while it waited for its turn to read");
}
