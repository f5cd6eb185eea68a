/**
 * The queue for the processor of this process.
 *
 * The files of this folder know no socket, no status and no caller. They decide when a call begins,
 * waits or must be refused; the code that uses them responds to the caller. docs/overload.md shows
 * where they are used. They do not belong to the gateway, because gRPC servers and balancers
 * (src/rpc) use them too.
 *
 * A turn of the event loop begins calls for a limited time; whatever else has arrived waits. A call
 * that has waited too long is refused: its caller would probably give up before the response.
 * Groups of calls, such as the calls to one service, take turns, so a flood of calls of one group
 * hardly delays another.
 */

/** How many calls begin without a check of the clock, while none waits. */
export const MAX_UNTIMED = 32;
/**
 * How long one turn of the event loop begins calls, in milliseconds. The same time as
 * MAX_NORMAL_WAIT_MS: a longer wait means overload. A call that waits costs far more than one that
 * begins when it is read, because the garbage collector copies all its objects.
 */
export const MAX_TURN_MS = 100;
/**
 * The shorter time that is used in two cases. During an overload, because the loop has to accept
 * connections and to notice which callers have gone. While several groups share the processor,
 * because a call of one group waits for the turns of the others.
 */
export const MAX_SHORT_TURN_MS = 2;
/**
 * For how long turns stay short after calls of two groups have arrived in one turn, in
 * milliseconds.
 */
export const SHARED_MS = 1_000;
/**
 * Queueing for longer than this means overload, in milliseconds. The first call that queued for
 * less ends it.
 */
export const MAX_NORMAL_WAIT_MS = 100;
/**
 * How long a turn that begins calls may refuse calls, in milliseconds. The other late calls wait
 * for the next turn: clients that retry at once after a refusal must not take the time of calls
 * that can be served.
 */
export const MAX_REFUSE_MS = 0.5;
/**
 * For how long turns of the loop may accept connections and begin no calls while calls wait, in
 * milliseconds. The loop accepts one connection in each turn.
 */
const MAX_ACCEPT_MS = 1;
/** A call that has waited for longer is refused, in milliseconds. */
export const MAX_WAIT_MS = 250;

/**
 * For how long the begun calls of a group are counted, in milliseconds. It is less than
 * MAX_WAIT_MS, so that most of the waiting calls begin.
 */
export const PERIOD_MS = 200;

/** The event loop of this process; a test replaces it by one that it controls. */
interface EventLoop {
  /** In milliseconds. */
  now(): number;
  /** Calls back once, when everything that was ready in this turn has been handled. */
  atTurnEnd(callback: () => void): void;
  /**
   * Calls back once, when all that the current callback started has ended or waits for the event
   * loop.
   */
  afterMicrotasks(callback: () => void): void;
}

const EVENT_LOOP: EventLoop = {
  now: () => performance.now(),
  atTurnEnd: setImmediate,
  // A tick that is scheduled by a microtask runs after all microtasks.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
};

/** A call that waits. One of the two functions is called, unless the call is cancelled before. */
export interface WaitingCall {
  begin(): void;
  refuse(): void;
}

/** The place of a waiting call in the queue. */
export interface WaitingPlace {
  /**
   * Gives up the place. @returns false if the call has already begun, or was refused or cancelled
   */
  tryCancel(): boolean;
}

export class CallQueue {
  /** Number of calls that were refused. */
  refused = 0;
  readonly #loop: EventLoop;
  /** Calls that have begun since the queue was last known to be empty. */
  #untimed = 0;
  /** Waiting calls, in the order of the groups' turns. */
  readonly #groups = new Map<string, Group>();
  /** Calls that have waited too long and must be refused, oldest first. */
  readonly #late = new Queue();
  /**
   * Calls that arrived in this turn. They begin in a later one, when the loop has found the callers
   * that have gone. If turns are long, they begin in this turn, after the calls that arrived
   * earlier.
   */
  #arrived: { readonly group: string; readonly entry: Entry }[] = [];
  /** Until when calls begin in this turn; undefined while no turn is timed. */
  #turnEnd: number | undefined;
  /**
   * Whether the last call that began, or was found too late, had waited for longer than
   * MAX_NORMAL_WAIT_MS.
   */
  #isOverloaded = false;
  /**
   * `#lastGroup`: the group of the last call that checked the clock. `#sharedUntil`: until when
   * turns are short because of other groups.
   */
  #lastGroup: string | undefined;
  #sharedUntil = 0;
  #accepted = false;
  /** When a turn last began calls. */
  #lastBegun = 0;

  constructor(loop = EVENT_LOOP) {
    this.#loop = loop;
  }

  /** Whether a call begins without further checks; otherwise ask `tryBegin`. */
  mayBegin(): boolean {
    return this.#untimed++ < MAX_UNTIMED;
  }

  /** Whether a call begins at once, before other groups' calls; otherwise it has to wait. */
  tryBegin(group: string): boolean {
    if (this.#groups.has(group)) return false;
    const now = this.#loop.now();
    const isOther = this.#lastGroup !== undefined && group !== this.#lastGroup;
    if (isOther || this.#groups.size > 0) this.#sharedUntil = now + SHARED_MS;
    this.#lastGroup = group;
    this.#turnEnd ??= this.#openTurn(now);
    return now < this.#turnEnd;
  }

  /**
   * Whether more calls of the group wait than will probably begin in time. The call is then counted
   * as refused.
   */
  mustRefuse(group: string): boolean {
    if (!this.#groups.get(group)?.isFull) return false;
    this.refused++;
    return true;
  }

  /** Makes a call wait for its turn. */
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
      // Otherwise the calls that arrived in this turn would still wait when the others have begun,
      // and the calls of the next turn would wait behind them.
      if (this.#groups.size > 0 && !this.#isShort(now)) this.#takeArrived();
      this.#turnEnd = now + this.#turnMs(now);
      this.#beginNext();
    }
  };

  /** Begins a call, and continues when that call no longer needs the processor for now. */
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

  /** Ends the wait. @returns the call, to begin or refuse now */
  leave(): WaitingCall {
    this.isWaiting = false;
    return this.#call;
  }
}

/** Calls, oldest first. A linked list, because it may be long. */
class Queue {
  /** Cancelled calls count, too, until their turn comes. */
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

  /** The first call that is not cancelled. */
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

/** The waiting calls of a group: at most as many as began in the last period. */
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
