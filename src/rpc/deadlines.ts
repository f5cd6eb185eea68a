/** The deadlines of many calls, with one timer for all. Nearly all end long before, and then cost no more than leaving a bag. */

import { Bag, type Placed } from "./indexed-list.js";

/** Milliseconds: no call is ended earlier than asked for, and none later by more than this. */
const SLOT = 16;
const LONGEST_TIMER = 2 ** 31 - 1;

export interface Expiring extends Placed {
  /** In milliseconds of `Date.now()`. */
  readonly deadline: number;
  expire(): void;
}

export class Deadlines {
  #calls = new Bag<Expiring>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer goes off: a multiple of `SLOT`, so that it need not be set anew for each deadline a little earlier. */
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
    this.#calls = new Bag();
    this.#armed = Number.POSITIVE_INFINITY;
  }

  #arm(deadline: number): void {
    clearTimeout(this.#timer);
    this.#armed = (Math.floor(deadline / SLOT) + 1) * SLOT;
    this.#timer = setTimeout(this.#expire, Math.min(Math.max(this.#armed - Date.now(), 1), LONGEST_TIMER));
    // What keeps a process alive is the connections of its calls, and the port where it takes them.
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
