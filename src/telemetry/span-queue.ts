/**
 * Spans that wait until they are sent. The queue is bounded by their number and by their bytes.
 * What does not fit is dropped and counted: no call ever waits for a collector.
 */
import type { EndedSpan } from "./span.js";
import { writeSpan } from "./span-writer.js";

/** Maximum number of spans that wait, and of their bytes. */
const MAX_SPANS = 4096;
const MAX_BYTES = 4 * 1024 ** 2;
/**
 * The part of the queue that spans of requests may fill which others have sampled. The rest is for
 * requests that this process samples itself.
 */
const REMOTE_PART = 0.75;
/** Maximum number of spans of a batch, and of their bytes. */
const BATCH_SPANS = 512;
const BATCH_BYTES = 512 * 1024;

/**
 * Why spans were dropped: `queue_full`: they come faster than the collector takes them; `rate`:
 * others have sampled too many requests; `rejected`: the collector refused them; `unsent`: the
 * collector could not be reached in time.
 */
export type DropReason = "queue_full" | "rate" | "rejected" | "unsent";

export interface SpanQueueOptions {
  /** Called when a batch is full. */
  readonly onFull: () => void;
  /** Called when spans are dropped. */
  readonly onDrop: (count: number, reason: DropReason) => void;
}

export class SpanQueue {
  readonly #options: SpanQueueOptions;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  readonly #dropped = new Map<DropReason, number>();

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Whether a whole batch waits. */
  get isFull(): boolean {
    return this.#waiting.length >= BATCH_SPANS || this.#bytes >= BATCH_BYTES;
  }

  /** The spans that were dropped, by reason. */
  get dropped(): Iterable<readonly [reason: DropReason, count: number]> {
    return this.#dropped;
  }

  /** @param isRemote whether another process has sampled the request */
  hasRoom(isRemote: boolean): boolean {
    const part = isRemote ? REMOTE_PART : 1;
    return this.#waiting.length < MAX_SPANS * part && this.#bytes < MAX_BYTES * part;
  }

  /** Adds a span, or drops it. */
  add(span: EndedSpan): void {
    if (!this.hasRoom(false)) {
      this.drop(1, "queue_full");
      return;
    }
    const bytes = writeSpan(span);
    const wasFull = this.isFull;
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    if (!wasFull && this.isFull) this.#options.onFull();
  }

  drop(count: number, reason: DropReason): void {
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count);
    this.#options.onDrop(count, reason);
  }

  /** Takes the next batch out of the queue: the oldest spans. Empty where none waits. */
  take(): readonly Uint8Array[] {
    let count = 0;
    let bytes = 0;
    while (count < this.#waiting.length && count < BATCH_SPANS && (count === 0 || bytes < BATCH_BYTES)) {
      bytes += (this.#waiting[count++] as Uint8Array).length;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#bytes -= bytes;
    return batch;
  }
}
