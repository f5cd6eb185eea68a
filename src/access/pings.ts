/**
 * The pings of one stream to the authority, and their answers. A ping asks for the newest revision; its answer counts
 * once that revision is applied, and then extends the lease from the moment at which the ping was sent.
 */
import type { Logger } from "pino";
import type { WatchRequest, WatchResponse_Pong } from "../gen/portico/auth/v1/policy.js";
import { type Moment, now } from "./lease.js";

/** How often a guard pings in the time of a lease. */
const PINGS_A_LEASE = 5;
/** A stream on which this many pings wait for their answer is broken; the lease has run out by then. */
const MAX_UNANSWERED = 6;
/** The least time between two pings, in milliseconds. */
const MIN_INTERVAL = 20;

/** An answer to a ping, with the moment at which the ping was sent. */
export interface Answer {
  readonly sent: Moment;
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
}

/** The pings of one stream; it ends them by `stop`. */
export class Pings {
  readonly #options: PingOptions;
  /** When each ping without an answer was sent, by its sequence number. */
  readonly #unanswered = new Map<bigint, Moment>();
  #answers: Answer[] = [];
  #sequence = 0n;
  #interval = 0;
  #timer: NodeJS.Timeout | undefined;

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
    const { send, cancel, takeUsedKeys, isAcknowledged, log } = this.#options;
    if (this.#unanswered.size + this.#answers.length >= MAX_UNANSWERED) {
      // The authority answers when it knows that the last answer's revision is applied.
      if (!isAcknowledged()) return;
      log.warn("the authority does not answer pings, or not with what it has sent");
      cancel();
      return;
    }
    this.#unanswered.set(++this.#sequence, now());
    send({ message: { $case: "ping", value: { sequence: this.#sequence, usedKeys: takeUsedKeys() } } });
  }

  /** Takes an answer; one to a ping that is not known is ignored. */
  answered(pong: WatchResponse_Pong): void {
    const sent = this.#unanswered.get(pong.sequence);
    if (sent === undefined) return;
    // Pings are answered in order, and an answer that was overtaken by a later one does not come any more.
    for (const sequence of this.#unanswered.keys()) if (sequence <= pong.sequence) this.#unanswered.delete(sequence);
    this.#answers.push({ sent, pong });
  }

  /** The answers that count once a revision is applied, each given out once. */
  takeAnswers(applied: bigint | undefined): Answer[] {
    if (applied === undefined || this.#answers.length === 0) return [];
    const counting = this.#answers.filter(({ pong }) => pong.revision <= applied);
    this.#answers = this.#answers.filter(({ pong }) => pong.revision > applied);
    return counting;
  }
}
