/**
 * Shares the processor of this process among calls while there are more than it can answer. A turn of the event loop begins
 * calls for a bounded time; what else has arrived waits. A call that has waited too long is refused, because its caller
 * would most likely have given up before the answer. Groups of calls, such as those to one service, take turns, so a flood of one
 * group hardly delays another.
 */

/** How many calls begin without a look at the clock, while none waits. */
export const MAX_UNTIMED = 32;
/** How long calls begin in one turn of the event loop, in milliseconds. */
export const MAX_TURN_MS = 50;
/** The same in an overload: the loop has to accept connections and find out which callers have gone. */
export const MAX_OVERLOADED_TURN_MS = 2;
/** A call that begins after it has waited longer than this shows an overload, in milliseconds. It ends when none waits. */
export const MAX_NORMAL_WAIT_MS = 100;
/**
 * How long calls are refused in a turn that begins calls, in milliseconds. The others wait on: a flood that asks again when it is
 * refused must not take the time of calls that can be answered.
 */
export const MAX_REFUSE_MS = 0.5;
/** How long turns may only accept connections while calls wait, in milliseconds: the loop accepts one a turn. */
const MAX_ACCEPT_MS = 1;
/** A call that has waited longer is refused, in milliseconds. */
export const MAX_WAIT_MS = 250;

/** The event loop of this process; a test has one that it moves by hand. */
export interface EventLoop {
  /** In milliseconds. */
  now(): number;
  /** Calls back once, when everything that was ready in this turn has been handled. */
  atTurnEnd(callback: () => void): void;
  /** Calls back once, when what the current callback has begun waits for the loop or has ended. */
  afterMicrotasks(callback: () => void): void;
}

const EVENT_LOOP: EventLoop = {
  now: () => performance.now(),
  atTurnEnd: setImmediate,
  // A tick that a microtask asks for runs behind all microtasks.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
};

/** What becomes of a call that waits: one of the two is called, unless it is cancelled before. */
export interface WaitingCall {
  begin(): void;
  refuse(): void;
}

export class Overload {
  /** Calls that were refused. */
  refused = 0;
  readonly #loop: EventLoop;
  /** Calls that have begun since it was last known that none waits. */
  #untimed = 0;
  /** Those that wait, in the order of their turns. */
  readonly #groups = new Map<string, Queue>();
  /** Those that have waited too long and are to be refused, oldest first. */
  readonly #late = new Queue();
  /** Calls that came in this turn. They begin in a later one: by then the loop has found those whose callers have gone. */
  #arrived: { readonly group: string; readonly entry: Entry }[] = [];
  /** Until when calls begin in this turn; undefined while no turn is timed. */
  #turnEnd: number | undefined;
  /** How long a turn begins calls now, in milliseconds. */
  #turnMs = MAX_TURN_MS;
  #accepted = false;
  /** When a turn began calls last. */
  #lastBegun = 0;

  constructor(loop = EVENT_LOOP) {
    this.#loop = loop;
  }

  /** Whether a call begins without further questions; else `tryBegin` is asked. */
  mayBegin(): boolean {
    return this.#untimed++ < MAX_UNTIMED;
  }

  /** Whether a call begins at once, ahead of other groups; else it has to wait. */
  tryBegin(group: string): boolean {
    if (this.#groups.has(group)) return false;
    const now = this.#loop.now();
    this.#turnEnd ??= this.#openTurn(now);
    return now < this.#turnEnd;
  }

  /** Has a call wait for its turn. */
  wait(group: string, call: WaitingCall): { cancel(): void } {
    const entry = new Entry(call, this.#loop.now());
    this.#arrived.push({ group, entry });
    return entry;
  }

  /** A connection was accepted. */
  onConnection(): void {
    this.#accepted = true;
  }

  #openTurn(now: number): number {
    this.#loop.atTurnEnd(this.#onTurnEnd);
    return now + this.#turnMs;
  }

  readonly #onTurnEnd = (): void => {
    const now = this.#loop.now();
    const mayAcceptMore = this.#accepted && now - this.#lastBegun < MAX_ACCEPT_MS;
    this.#accepted = false;
    if (mayAcceptMore) this.#leaveTurn();
    else {
      this.#turnEnd = now + this.#turnMs;
      this.#beginNext();
    }
  };

  /** Begins a call, and goes on when it needs the processor no more for now. */
  readonly #beginNext = (): void => {
    let now = this.#loop.now();
    for (; now < (this.#turnEnd as number); now = this.#loop.now()) {
      const entry = this.#next();
      if (entry === undefined) break;
      const waited = now - entry.since;
      if (waited > MAX_NORMAL_WAIT_MS) this.#turnMs = MAX_OVERLOADED_TURN_MS;
      if (waited <= MAX_WAIT_MS) {
        entry.call.begin();
        this.#loop.afterMicrotasks(this.#beginNext);
        return;
      }
      this.#late.push(entry);
    }
    this.#lastBegun = now;
    this.#refuse(Math.max(this.#turnEnd as number, now + MAX_REFUSE_MS));
    this.#leaveTurn();
  };

  #refuse(end: number): void {
    while (this.#loop.now() < end) {
      const entry = this.#late.shift();
      if (entry === undefined) return;
      this.refused++;
      entry.call.refuse();
    }
  }

  #leaveTurn(): void {
    for (const { group, entry } of this.#arrived) this.#push(group, entry);
    this.#arrived = [];
    if (this.#groups.size > 0 || !this.#late.isEmpty) this.#turnEnd = this.#openTurn(this.#loop.now());
    else {
      this.#turnEnd = undefined;
      this.#turnMs = MAX_TURN_MS;
      this.#untimed = 0;
    }
  }

  #push(name: string, entry: Entry): void {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new Queue();
      this.#groups.set(name, group);
    }
    group.push(entry);
  }

  /** The oldest call of the group whose turn it is. */
  #next(): Entry | undefined {
    for (const [name, group] of this.#groups) {
      this.#groups.delete(name);
      const entry = group.shift();
      if (!group.isEmpty) this.#groups.set(name, group);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }
}

class Entry {
  next: Entry | undefined;
  isCancelled = false;

  constructor(
    readonly call: WaitingCall,
    readonly since: number,
  ) {}

  cancel(): void {
    this.isCancelled = true;
  }
}

/** Calls, oldest first: a linked list, because it may be long. */
class Queue {
  #first: Entry | undefined;
  #last: Entry | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  push(entry: Entry): void {
    entry.next = undefined;
    if (this.#first === undefined) this.#first = entry;
    else (this.#last as Entry).next = entry;
    this.#last = entry;
  }

  /** The first that is not cancelled. */
  shift(): Entry | undefined {
    let entry = this.#first;
    while (entry?.isCancelled) entry = entry.next;
    this.#first = entry?.next;
    return entry;
  }
}
