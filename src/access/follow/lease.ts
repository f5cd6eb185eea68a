/**
 * The lease is the time for which a guard may decide, counted from a moment before the authority was asked. It is
 * measured by the monotonic clock, which cannot be set, and also ends by the wall clock, because the monotonic clock
 * stands still while a machine is suspended. Where the wall clock is behind the moment at which the ping was sent, it was
 * set back, and cannot tell any more how long the machine slept: the lease has ended then, too. Once found to have ended,
 * a lease does not run again before it is extended, whatever a clock says later.
 *
 * Pings extend it. Each asks the authority for the newest revision; its answer counts once that revision is applied, and
 * then extends the lease from the moment at which the ping was sent.
 */

import type { Logger } from "pino";
import type { WatchRequest, WatchResponse_Pong } from "../../gen/portico/auth/v1/policy.js";

/** One moment by both clocks, in milliseconds of `performance.now()` and of `Date.now()`. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

const ENDED: Moment = { monotonic: 0, wall: 0 };

/** This moment, by both clocks. */
export function now(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Told when a lease begins and ends. */
export interface LeaseListener {
  /** It runs, for the first time or again. */
  onRunning(): void;
  /** It has run out. */
  onLost(): void;
  /** It has been lost for as long as it had lasted. */
  onLostForLong(): void;
}

/** The lease of one guard. */
export class Lease {
  readonly #listener: LeaseListener;
  /** When the ping was sent, by the wall clock. */
  #start = 0;
  #end = ENDED;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #closed = false;

  constructor(listener: LeaseListener) {
    this.#listener = listener;
  }

  /** When it ends, as a moment of `performance.now()`. */
  get end(): number {
    return this.#end.monotonic;
  }

  /** @param monotonic a moment of `performance.now()` */
  runs(monotonic: number): boolean {
    const wall = Date.now();
    if (monotonic < this.#end.monotonic && wall < this.#end.wall && wall >= this.#start) return true;
    this.#end = ENDED;
    return false;
  }

  /** Lets it run for a time, in milliseconds, after a moment. */
  extend(from: Moment, time: number): void {
    if (this.#closed) return;
    // It ran out a moment ago, and the timer that tells is late.
    if (this.#running && !this.runs(performance.now())) this.#lose(time);
    this.#start = from.wall;
    this.#end = { monotonic: from.monotonic + time, wall: from.wall + time };
    if (!this.runs(performance.now())) return;
    this.#watch(time);
    if (this.#running) return;
    this.#running = true;
    this.#listener.onRunning();
  }

  /** Ends it now; it may be extended again. */
  cut(time: number): void {
    this.#end = ENDED;
    if (this.#running) this.#lose(time);
  }

  /** Ends it for good. */
  close(): void {
    this.#closed = true;
    this.#end = ENDED;
    this.#running = false;
    clearTimeout(this.#timer);
  }

  #watch(time: number): void {
    clearTimeout(this.#timer);
    const left = Math.ceil(this.#end.monotonic - performance.now()) + 1;
    this.#timer = setTimeout(() => this.#lose(time), left);
  }

  /**
   * The second timer starts only when the first has fired, and does not count from the same moment: when the process
   * was stopped or suspended for longer than both, an answer that is already there is read before the second one fires.
   */
  #lose(time: number): void {
    this.#running = false;
    this.#listener.onLost();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#listener.onLostForLong(), time);
  }
}

/** How often a guard pings in the time of a lease. */
const PINGS_A_LEASE = 5;
/** A stream on which this many pings wait for their answer is broken; the lease has run out by then. */
const MAX_UNANSWERED = 6;
/** The least time between two pings, in milliseconds. */
const MIN_INTERVAL = 20;

/** A ping: when it was sent, and the revision that this guard had applied by then. */
interface Ping {
  readonly sent: Moment;
  readonly applied: bigint;
}

/** A ping and its answer. */
export interface AnsweredPing extends Ping {
  readonly pong: WatchResponse_Pong;
}

/** The stream that the pings go over, and what they report. */
export interface PingOptions {
  /** Sends a message on the stream. */
  readonly send: (request: WatchRequest) => void;
  /** Gives the stream up. */
  readonly cancel: () => void;
  /** The SHA-256 of each key used since the last time. */
  readonly takeUsedKeys: () => Buffer[];
  readonly log: Logger;
  /** Whether everything that is applied has been acknowledged to the authority. */
  readonly isAcknowledged: () => boolean;
  /** The revision that this guard has applied, on whatever stream. */
  readonly applied: () => bigint;
  /** A ping has had no answer for as long as the next one was due, and nothing else has come. */
  readonly onLate: () => void;
}

/** The pings of one stream; it ends them by `stop`. */
export class Pings {
  readonly #options: PingOptions;
  /** Pings without a response, by sequence number. */
  readonly #unanswered = new Map<bigint, Ping>();
  #answers: AnsweredPing[] = [];
  #sequence = 0n;
  #interval = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Second look at a ping that seems late: what has come meanwhile is read before. */
  #check: NodeJS.Timeout | undefined;
  /** When the authority last sent anything, in milliseconds of `performance.now()`. */
  #heard = performance.now();

  constructor(options: PingOptions) {
    this.#options = options;
  }

  /** Sends the first ping now, and the next ones as the lease's time asks for them. */
  start(leaseTime: number): void {
    this.setPace(leaseTime);
    this.#ping();
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#check);
  }

  /** The authority has sent something. */
  heard(): void {
    this.#heard = performance.now();
  }

  /** Whether a ping has had no answer for as long as the next one was due, and nothing else has come. */
  get isLate(): boolean {
    const [oldest] = this.#unanswered.values();
    // Less than an interval, as timers are not exact.
    const latest = performance.now() - this.#interval * 0.9;
    if (oldest === undefined || oldest.sent.monotonic > latest || this.#heard > latest) return false;
    // The authority answers when it knows that the last answer's revision is applied.
    return this.#options.isAcknowledged();
  }

  /** @param leaseTime in milliseconds */
  setPace(leaseTime: number): void {
    const interval = Math.max(leaseTime / PINGS_A_LEASE, MIN_INTERVAL);
    if (interval === this.#interval) return;
    this.#interval = interval;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#ping(), interval);
  }

  #ping(): void {
    const { send, cancel, takeUsedKeys, isAcknowledged, applied, log } = this.#options;
    if (this.isLate) this.#check = setTimeout(() => this.isLate && this.#options.onLate(), this.#interval / 10);
    if (this.#unanswered.size + this.#answers.length >= MAX_UNANSWERED) {
      // The authority answers when it knows that the last answer's revision is applied.
      if (!isAcknowledged()) return;
      log.warn("the authority does not respond pings, or not with what it has sent");
      cancel();
      return;
    }
    this.#unanswered.set(++this.#sequence, { sent: now(), applied: applied() });
    send({ message: { $case: "ping", value: { sequence: this.#sequence, usedKeys: takeUsedKeys() } } });
  }

  /** Takes an answer; one to a ping that is not known is ignored. */
  responded(pong: WatchResponse_Pong): void {
    const ping = this.#unanswered.get(pong.sequence);
    if (ping === undefined) return;
    // Pings are answered in order, and an answer that was overtaken by a later one does not come any more.
    for (const sequence of this.#unanswered.keys()) if (sequence <= pong.sequence) this.#unanswered.delete(sequence);
    this.#answers.push({ ...ping, pong });
  }

  /** The answers that count once a revision is applied, each given out once. */
  takePongs(applied: bigint | undefined): AnsweredPing[] {
    if (applied === undefined || this.#answers.length === 0) return [];
    const counting = this.#answers.filter(({ pong }) => pong.revision <= applied);
    this.#answers = this.#answers.filter(({ pong }) => pong.revision > applied);
    return counting;
  }
}
