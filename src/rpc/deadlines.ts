/**
 * The deadlines of many calls, with one timer for all of them. Nearly all calls end long before their deadline, and then
 * cost no more than removal from a list.
 */

import { type Indexed, IndexedList } from "./indexed-list.js";

/** Milliseconds: no call is ended earlier than asked for, and none later by more than this. */
const SLOT = 16;
/** The longest delay that `setTimeout` takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Expiring extends Indexed {
  /** In milliseconds of `Date.now()`. */
  readonly deadline: number;
  expire(): void;
}

/** Calls `expire` of each entry when its deadline has passed; an entry that is deleted first does not expire. */
export class Deadlines {
  #calls = new IndexedList<Expiring>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer goes off: a multiple of `SLOT`, so that a deadline a little earlier needs no new timer. */
  #armed = Number.POSITIVE_INFINITY;

  add(call: Expiring): void {
    this.#calls.add(call);
    if (call.deadline < this.#armed - SLOT) this.#arm(call.deadline);
  }

  delete(call: Expiring): void {
    this.#calls.delete(call);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#calls = new IndexedList();
    this.#armed = Number.POSITIVE_INFINITY;
  }

  #arm(deadline: number): void {
    clearTimeout(this.#timer);
    this.#armed = (Math.floor(deadline / SLOT) + 1) * SLOT;
    this.#timer = setTimeout(this.#expire, Math.min(Math.max(this.#armed - Date.now(), 1), MAX_TIMER_MS));
    // A process is kept alive by the connections of its calls and the port where it takes them, not by this timer.
    this.#timer.unref();
  }

  readonly #expire = (): void => {
    const now = Date.now();
    this.#armed = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls) {
      if (call.deadline > now) next = Math.min(next, call.deadline);
      else if (this.#calls.delete(call)) call.expire();
    }
    if (next < this.#armed - SLOT) this.#arm(next);
  };
}
