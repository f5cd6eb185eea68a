/**
 * The deadlines of many calls, with one timer for all: calls are kept by the slot of time in which they expire. Nearly
 * all end long before, and then cost no more than leaving a bag.
 */

import { Bag, type Placed } from "../bag.js";

/** Milliseconds of a slot: no call is ended earlier than asked for, and none later by more than this. */
const SLOT = 16;
const LONGEST_TIMER = 2 ** 31 - 1;

export interface Expiring extends Placed {
  /** In milliseconds of `Date.now()`. */
  readonly deadline: number;
  expire(): void;
}

export class Deadlines {
  readonly #slots = new Map<number, Bag<Expiring>>();
  #timer: NodeJS.Timeout | undefined;
  /** The slot at whose end the timer goes off. */
  #armed = Number.POSITIVE_INFINITY;

  add(call: Expiring): void {
    const slot = Math.floor(call.deadline / SLOT);
    const calls = this.#slots.get(slot);
    if (calls !== undefined) {
      calls.add(call);
      return;
    }
    const bag = new Bag<Expiring>();
    bag.add(call);
    this.#slots.set(slot, bag);
    if (slot < this.#armed) this.#arm(slot);
  }

  delete(call: Expiring): void {
    const slot = Math.floor(call.deadline / SLOT);
    const calls = this.#slots.get(slot);
    if (calls?.delete(call) && calls.size === 0) this.#slots.delete(slot);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#slots.clear();
    this.#armed = Number.POSITIVE_INFINITY;
  }

  #arm(slot: number): void {
    clearTimeout(this.#timer);
    this.#armed = slot;
    this.#timer = setTimeout(this.#expire, Math.min(Math.max((slot + 1) * SLOT - Date.now(), 1), LONGEST_TIMER));
    // Calls have a connection, which is what keeps a process alive.
    this.#timer.unref();
  }

  readonly #expire = (): void => {
    const now = Math.floor(Date.now() / SLOT);
    this.#armed = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const [slot, calls] of this.#slots) {
      if (slot >= now) {
        next = Math.min(next, slot);
        continue;
      }
      this.#slots.delete(slot);
      for (const call of calls) call.expire();
    }
    if (next < this.#armed) this.#arm(next);
  };
}
