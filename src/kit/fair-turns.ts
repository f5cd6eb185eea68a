/**
 * Fair turns for expensive work, such as a read of many entries. Only a few turns run at once, and
 * waiting groups alternate. So a caller with hundreds of calls delays another caller's call by one
 * turn, not by hundreds.
 */
import { aborted, resourceExhausted } from "../errors.js";

export interface FairTurnsOptions {
  /** The maximum number of turns that run at once, in total and for one group. */
  readonly atOnce: number;
  readonly atOnceOfGroup: number;
  /** The maximum number of waiting turns, in total and for one group. */
  readonly maxWaiting: number;
  readonly maxWaitingOfGroup: number;
  /** The error for a caller if too many turns wait. */
  readonly refusal: string;
}

/** The turns of one caller. */
interface Group {
  running: number;
  readonly waiting: (() => void)[];
}

export class FairTurns {
  readonly #options: FairTurnsOptions;
  #running = 0;
  #waiting = 0;
  /**
   * The groups with running or waiting turns. The next turn goes to the first group that may begin
   * one.
   */
  readonly #groups = new Map<string, Group>();

  constructor(options: FairTurnsOptions) {
    this.#options = options;
  }

  /**
   * Runs `act` in a turn of the group. The turn ends one event-loop iteration after `act`, so the
   * code that awaits the result runs before the next turn begins.
   * @param name the group
   * @param call an abort of its signal ends the wait
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED if too many wait; ABORTED if the call ended
   *   before its turn
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
      // Moves the group to the end, so that the others get their turns first.
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
