/**
 * A lease is the time for which a guard may decide. It counts from a moment before the authority
 * was asked.
 *
 * It is measured by the monotonic clock, because that clock cannot be set. It also ends by the wall
 * clock, because the monotonic clock stops while the computer is suspended. If the wall clock is
 * earlier than when the ping was sent, it was set back and no longer shows how long the computer
 * was suspended. The lease has then ended, too. Once the lease was found to have ended, it stays
 * ended until it is extended, whatever a clock says later.
 *
 * Pings extend it. Each ping asks the authority for its newest revision. The pong counts as soon as
 * that revision is applied. It then extends the lease from the moment at which the ping was sent.
 */

import type { Logger } from "pino";
import type { WatchRequest, WatchResponse_Pong } from "../../gen/portico/auth/v1/policy.js";
import { type Moment, now } from "../../moment.js";

const ENDED: Moment = { monotonic: 0, wall: 0 };

/** Notified when a lease begins and ends. */
export interface LeaseListener {
  /** The lease runs, for the first time or again. */
  onRunning(): void;
  /** The lease has expired. */
  onLost(): void;
  /** The lease has been lost for as long as a lease lasts. */
  onLostForLong(): void;
}

/** The lease of one guard. */
export class Lease {
  readonly #listener: LeaseListener;
  /** When the ping was sent that extended the lease, by the wall clock. */
  #start = 0;
  #end = ENDED;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #closed = false;

  constructor(listener: LeaseListener) {
    this.#listener = listener;
  }

  /** When the lease ends, in milliseconds of `performance.now()`. */
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

  /** Lets the lease run until `time` milliseconds after a moment. */
  extend(from: Moment, time: number): void {
    if (this.#closed) return;
    // The lease expired a moment ago, and the timer that reports it is late.
    if (this.#running && !this.runs(performance.now())) this.#lose(time);
    this.#start = from.wall;
    this.#end = { monotonic: from.monotonic + time, wall: from.wall + time };
    if (!this.runs(performance.now())) return;
    this.#watch(time);
    if (this.#running) return;
    this.#running = true;
    this.#listener.onRunning();
  }

  /** Ends the lease now; it may be extended again. */
  cut(time: number): void {
    this.#end = ENDED;
    if (this.#running) this.#lose(time);
  }

  /** Ends the lease for good. */
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
   * The timer of `onLostForLong` starts only when the timer of the lease (`#watch`) has fired, and
   * counts from that moment. So if the process was stopped or suspended for longer than both times,
   * a pong that has already arrived is read before the second timer fires.
   */
  #lose(time: number): void {
    this.#running = false;
    this.#listener.onLost();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#listener.onLostForLong(), time);
  }
}

/** How many pings a guard sends in the time of a lease. */
const PINGS_A_LEASE = 5;
/** A stream with this many pings without a pong is broken. The lease has expired by then. */
const MAX_UNANSWERED = 6;
/** The shortest time between two pings, in milliseconds. */
const MIN_INTERVAL = 20;

/** When a ping was sent, and the revision that this guard had applied by then. */
interface Ping {
  readonly sent: Moment;
  readonly applied: bigint;
}

/** A ping and its pong. */
export interface AnsweredPing extends Ping {
  readonly pong: WatchResponse_Pong;
}

/** The stream that carries the pings, and what they report. */
export interface PingOptions {
  /** Sends a message on the stream. */
  readonly send: (request: WatchRequest) => void;
  /** Ends the stream. */
  readonly cancel: () => void;
  /** The SHA-256 of each key used since the last call of this function. */
  readonly takeUsedKeys: () => Buffer[];
  readonly log: Logger;
  /** Whether every applied revision has been acknowledged to the authority. */
  readonly isAcknowledged: () => boolean;
  /** The revision that this guard has applied, on any stream. */
  readonly applied: () => bigint;
  /** Called when `isLate` of the pings is true. */
  readonly onLate: () => void;
}

/** The pings of one stream. */
export class Pings {
  readonly #options: PingOptions;
  /** Pings without a pong, by sequence number. */
  readonly #unanswered = new Map<bigint, Ping>();
  #pongs: AnsweredPing[] = [];
  #sequence = 0n;
  #interval = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Checks a ping that seems late once more, after messages that have already arrived are read. */
  #check: NodeJS.Timeout | undefined;
  /** When the authority last sent a message, in milliseconds of `performance.now()`. */
  #heard = performance.now();

  constructor(options: PingOptions) {
    this.#options = options;
  }

  /** Sends the first ping now, and then at the intervals that the lease's time needs. */
  start(leaseTime: number): void {
    this.setPace(leaseTime);
    this.#ping();
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#check);
  }

  /** The authority has sent a message. */
  heard(): void {
    this.#heard = performance.now();
  }

  /** Whether the next ping is due and there is still no pong, nor any other message since. */
  get isLate(): boolean {
    const [oldest] = this.#unanswered.values();
    // A little less than an interval, because timers are not exact.
    const latest = performance.now() - this.#interval * 0.9;
    if (oldest === undefined || oldest.sent.monotonic > latest || this.#heard > latest) return false;
    // The authority responds only when the revision of its last pong has been acknowledged.
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
    if (this.#unanswered.size + this.#pongs.length >= MAX_UNANSWERED) {
      // The authority responds only when the revision of its last pong has been acknowledged.
      if (!isAcknowledged()) return;
      log.warn("the authority does not respond to pings, or not with what it has sent");
      cancel();
      return;
    }
    this.#unanswered.set(++this.#sequence, { sent: now(), applied: applied() });
    send({ message: { $case: "ping", value: { sequence: this.#sequence, usedKeys: takeUsedKeys() } } });
  }

  /** Takes a pong; one for an unknown ping is ignored. */
  responded(pong: WatchResponse_Pong): void {
    const ping = this.#unanswered.get(pong.sequence);
    if (ping === undefined) return;
    // Pongs come in order. A pong that a later one has overtaken does not come any more.
    for (const sequence of this.#unanswered.keys()) if (sequence <= pong.sequence) this.#unanswered.delete(sequence);
    this.#pongs.push({ ...ping, pong });
  }

  /**
   * The pongs that count once the revision `applied` is applied. Each pong is returned only once.
   */
  takePongs(applied: bigint | undefined): AnsweredPing[] {
    if (applied === undefined || this.#pongs.length === 0) return [];
    const counting = this.#pongs.filter(({ pong }) => pong.revision <= applied);
    this.#pongs = this.#pongs.filter(({ pong }) => pong.revision > applied);
    return counting;
  }
}
