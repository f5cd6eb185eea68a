/**
 * The streams to all authorities, by the lender that each of them is. They are opened when
 * something is first borrowed, and opened again when they end.
 */
import { randomUUID } from "node:crypto";
import { backOff } from "../follow.js";
import type { Channel } from "../rpc/channel.js";
import type { CallOptions } from "../rpc/client.js";
import { LoanStream, type LoanStreamListener } from "./loan-stream.js";

/** The longest pause before a stream is opened again after the first failure, and after others. */
const FIRST_PAUSE = 50;
const MAX_PAUSE = 1_000;

/** An authority. */
interface Link {
  readonly name: string;
  readonly channel: Channel;
}

export interface LoanStreamsOptions {
  /** The authorities now. */
  readonly authorities: () => readonly Link[];
  readonly call: CallOptions;
  /** A stream is ready for a request. */
  readonly onReady: (stream: LoanStream, isNew: boolean) => void;
  /** A stream has ended: the response to its request will not come. */
  readonly onEnd: (lender: string) => void;
}

interface Open {
  readonly stream: LoanStream;
  greeted: boolean;
}

export class LoanStreams implements LoanStreamListener {
  readonly #options: LoanStreamsOptions;
  readonly #guard = randomUUID();
  readonly #open = new Map<Channel, Open>();
  /** Pauses after failures, by channel: how many there were, and the timer of the pause. */
  readonly #failed = new Map<Channel, { count: number; timer: NodeJS.Timeout | undefined }>();
  #closed = false;

  constructor(options: LoanStreamsOptions) {
    this.#options = options;
  }

  /** The stream to a lender, if it is open. Opens streams to the authorities that have none. */
  to(lender: string): LoanStream | undefined {
    this.#openAll();
    for (const { stream } of this.#open.values()) if (stream.lender === lender) return stream;
    return undefined;
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#failed.values()) clearTimeout(timer);
    for (const { stream } of this.#open.values()) stream.close();
  }

  onReady(stream: LoanStream): void {
    const open = [...this.#open.values()].find((one) => one.stream === stream);
    if (open === undefined) return;
    const isNew = !open.greeted;
    open.greeted = true;
    this.#options.onReady(stream, isNew);
  }

  onEnd(stream: LoanStream): void {
    for (const [channel, open] of this.#open) {
      if (open.stream !== stream) continue;
      this.#open.delete(channel);
      const count = open.greeted ? 0 : (this.#failed.get(channel)?.count ?? 0);
      const timer = setTimeout(() => this.#openAgain(channel), backOff(count, FIRST_PAUSE, MAX_PAUSE)).unref();
      this.#failed.set(channel, { count: count + 1, timer });
    }
    if (stream.lender !== undefined) this.#options.onEnd(stream.lender);
  }

  #openAgain(channel: Channel): void {
    const failed = this.#failed.get(channel);
    if (failed !== undefined) failed.timer = undefined;
    this.#openAll();
  }

  #openAll(): void {
    if (this.#closed) return;
    const { authorities, call } = this.#options;
    const channels = new Set(authorities().map(({ channel }) => channel));
    for (const [channel, { stream }] of this.#open) if (!channels.has(channel)) stream.close();
    for (const channel of this.#failed.keys()) if (!channels.has(channel)) this.#failed.delete(channel);
    for (const channel of channels) {
      if (this.#open.has(channel) || this.#failed.get(channel)?.timer !== undefined) continue;
      this.#open.set(channel, { stream: new LoanStream(channel, call, this.#guard, this), greeted: false });
    }
  }
}
