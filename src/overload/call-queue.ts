/**
 * The queue for the processor of this process.
 *
 * The files of this folder know no socket, no status and no caller: they say when a call begins, waits or must be refused, and whoever asks
 * them tells the caller. docs/overload.md draws who asks where. They are below the gateway, because servers and balancers of gRPC
 * (src/rpc) ask them too.
 *
 * A turn of the event loop begins calls for a bounded time; what else has arrived waits. A call that has waited too long is refused,
 * because its caller would most likely have given up before the answer. Groups of calls, such as those to one service, take turns, so a
 * flood of one group hardly delays another.
 */

/** How many calls begin without a look at the clock, while none waits. */
export const MAX_UNTIMED = 32;
/**
 * How long calls begin in one turn of the event loop, in milliseconds: as long as a call may wait before it shows an overload. A call that
 * waits costs far more than one that begins when it is read, because the garbage collector copies all that it consists of.
 */
export const MAX_TURN_MS = 100;
/**
 * The same in an overload, because the loop has to accept connections and find out which callers have gone; and while several groups
 * share the processor, because a call of the one waits for the turns of the other.
 */
export const MAX_SHORT_TURN_MS = 2;
/** For how long turns are short after calls of two groups have come in one, in milliseconds. */
export const SHARED_MS = 1_000;
/** A call that begins after it has waited longer than this shows an overload, in milliseconds. The next one that has not ends it. */
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

/** For how long the calls of a group are counted that begin, in milliseconds: less than a call may wait, so that most of those that wait begin. */
export const PERIOD_MS = 200;

/** The event loop of this process; a test has one that it moves by hand. */
interface EventLoop {
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

/** The place of a call that waits. */
export interface WaitingPlace {
  /** Gives the place up, where the call still waits. @returns false where the call has begun, was refused, or was cancelled */
  tryCancel(): boolean;
}

export class CallQueue {
  /** Calls that were refused. */
  refused = 0;
  readonly #loop: EventLoop;
  /** Calls that have begun since it was last known that none waits. */
  #untimed = 0;
  /** Those that wait, in the order of their turns. */
  readonly #groups = new Map<string, Group>();
  /** Those that have waited too long and are to be refused, oldest first. */
  readonly #late = new Queue();
  /**
   * Calls that came in this turn. They begin in a later one: by then the loop has found those whose callers have gone. Where turns are
   * long, they begin in this one behind calls that came before it.
   */
  #arrived: { readonly group: string; readonly entry: Entry }[] = [];
  /** Until when calls begin in this turn; undefined while no turn is timed. */
  #turnEnd: number | undefined;
  /** Whether the last call that began, or was found late, had waited for long. */
  #isOverloaded = false;
  /** The group of the last call that the clock was looked at for, and until when there are others beside it. */
  #lastGroup: string | undefined;
  #sharedUntil = 0;
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
    const isOther = this.#lastGroup !== undefined && group !== this.#lastGroup;
    if (isOther || this.#groups.size > 0) this.#sharedUntil = now + SHARED_MS;
    this.#lastGroup = group;
    this.#turnEnd ??= this.#openTurn(now);
    return now < this.#turnEnd;
  }

  /** Whether more calls of the group wait than are likely to begin in time; then the call is counted as refused. */
  mustRefuse(group: string): boolean {
    if (!this.#groups.get(group)?.isFull) return false;
    this.refused++;
    return true;
  }

  /** Has a call wait for its turn. */
  wait(group: string, call: WaitingCall): WaitingPlace {
    const now = this.#loop.now();
    const entry = new Entry(call, now);
    this.#arrived.push({ group, entry });
    this.#turnEnd ??= this.#openTurn(now);
    return entry;
  }

  /** A connection was accepted. */
  onConnection(): void {
    this.#accepted = true;
  }

  #openTurn(now: number): number {
    this.#loop.atTurnEnd(this.#onTurnEnd);
    return now + this.#turnMs(now);
  }

  /** How long a turn begins calls, in milliseconds. */
  #turnMs(now: number): number {
    return this.#isShort(now) ? MAX_SHORT_TURN_MS : MAX_TURN_MS;
  }

  #isShort(now: number): boolean {
    return this.#isOverloaded || now < this.#sharedUntil;
  }

  readonly #onTurnEnd = (): void => {
    const now = this.#loop.now();
    const mayAcceptMore = this.#accepted && now - this.#lastBegun < MAX_ACCEPT_MS;
    this.#accepted = false;
    if (mayAcceptMore) this.#leaveTurn();
    else {
      // Otherwise a few would still wait when the others have begun, and all calls of the next turn behind them.
      if (this.#groups.size > 0 && !this.#isShort(now)) this.#takeArrived();
      this.#turnEnd = now + this.#turnMs(now);
      this.#beginNext();
    }
  };

  /** Begins a call, and goes on when it needs the processor no more for now. */
  readonly #beginNext = (): void => {
    let now = this.#loop.now();
    for (; now < (this.#turnEnd as number); now = this.#loop.now()) {
      const entry = this.#next(now);
      if (entry === undefined) break;
      const waited = now - entry.since;
      this.#isOverloaded = waited > MAX_NORMAL_WAIT_MS;
      if (waited <= MAX_WAIT_MS) {
        entry.leave().begin();
        this.#loop.afterMicrotasks(this.#beginNext);
        return;
      }
      this.#late.push(entry);
    }
    this.#lastBegun = now;
    const rest = Math.max((this.#turnEnd as number) - now, MAX_REFUSE_MS);
    this.#refuse(now + Math.min(rest, MAX_SHORT_TURN_MS));
    this.#leaveTurn();
  };

  #refuse(end: number): void {
    while (this.#loop.now() < end) {
      const entry = this.#late.shift();
      if (entry === undefined) return;
      this.refused++;
      entry.leave().refuse();
    }
  }

  #takeArrived(): void {
    for (const { group, entry } of this.#arrived) this.#push(group, entry);
    this.#arrived = [];
  }

  #leaveTurn(): void {
    this.#takeArrived();
    if (this.#groups.size > 0 || !this.#late.isEmpty) this.#turnEnd = this.#openTurn(this.#loop.now());
    else {
      this.#turnEnd = undefined;
      this.#isOverloaded = false;
      this.#untimed = 0;
    }
  }

  #push(name: string, entry: Entry): void {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new Group(this.#loop.now());
      this.#groups.set(name, group);
    }
    group.push(entry);
  }

  /** The oldest call of the group whose turn it is. */
  #next(now: number): Entry | undefined {
    for (const [name, group] of this.#groups) {
      this.#groups.delete(name);
      const entry = group.shift();
      if (entry !== undefined && now - entry.since <= MAX_WAIT_MS) group.countBegun(now);
      if (!group.isEmpty) this.#groups.set(name, group);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }
}

class Entry implements WaitingPlace {
  next: Entry | undefined;
  isWaiting = true;
  readonly #call: WaitingCall;

  constructor(
    call: WaitingCall,
    readonly since: number,
  ) {
    this.#call = call;
  }

  tryCancel(): boolean {
    const wasWaiting = this.isWaiting;
    this.isWaiting = false;
    return wasWaiting;
  }

  /** Ends the wait. @returns the call, which begins or is refused now */
  leave(): WaitingCall {
    this.isWaiting = false;
    return this.#call;
  }
}

/** Calls, oldest first: a linked list, because it may be long. */
class Queue {
  /** Those that are cancelled count, too, until it is their turn. */
  length = 0;
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
    this.length++;
  }

  /** The first that is not cancelled. */
  shift(): Entry | undefined {
    let entry = this.#first;
    while (entry?.isWaiting === false) {
      entry = entry.next;
      this.length--;
    }
    this.#first = entry?.next;
    if (entry !== undefined) this.length--;
    return entry;
  }
}

/** The calls of a group that wait: no more than began in the last period. */
class Group extends Queue {
  #maxLength = Number.POSITIVE_INFINITY;
  #begun = 0;
  /** When the period began. */
  #since: number;

  constructor(now: number) {
    super();
    this.#since = now;
  }

  get isFull(): boolean {
    return this.length >= this.#maxLength;
  }

  countBegun(now: number): void {
    this.#begun++;
    if (now - this.#since < PERIOD_MS) return;
    this.#maxLength = (this.#begun * PERIOD_MS) / (now - this.#since);
    this.#begun = 0;
    this.#since = now;
  }
}
