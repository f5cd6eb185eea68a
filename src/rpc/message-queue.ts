/**
 * The messages of a stream on their way from a transport's callbacks to a reader's `for await`. The transport is paused
 * once more waits than a reader is likely to take in one go, and restarted when the reader has caught up, so a slow
 * reader slows the sender and nothing grows. Messages wait as bytes and are decoded when taken: what waits is counted
 * in bytes, and what is never read costs no decoding.
 */

/** As much as either of these waiting, in one direction of a call, makes its sender wait. */
export const MAX_QUEUED_MESSAGES = 16;
export const MAX_QUEUED_BYTES = 65_536;

/** The sender, as far as a queue steers it. */
export interface Flow {
  pause(): void;
  /** Nothing waits any more, whether the sender was paused or not. */
  resume(): void;
  /** The reader left before the end. */
  abandon(): void;
}

interface Reader<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: Error): void;
}

export class MessageQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #decode: (bytes: Uint8Array) => T;
  readonly #flow: Flow;
  readonly #waiting: Uint8Array[] = [];
  readonly #readers: Reader<T>[] = [];
  #bytes = 0;
  #paused = false;
  #ended = false;
  #error: Error | undefined;

  /** @param decode may throw: the reader then sees the error, and the sender is abandoned. */
  constructor(decode: (bytes: Uint8Array) => T, flow: Flow) {
    this.#decode = decode;
    this.#flow = flow;
  }

  push(message: Uint8Array): void {
    if (this.#ended) return;
    this.#waiting.push(message);
    this.#bytes += message.length;
    const reader = this.#readers.shift();
    if (reader !== undefined) this.#take(reader);
    else if (!this.#paused && (this.#waiting.length >= MAX_QUEUED_MESSAGES || this.#bytes >= MAX_QUEUED_BYTES)) {
      this.#paused = true;
      this.#flow.pause();
    }
  }

  /** No more messages come. After those that wait the reader sees the error, where there is one. */
  end(error?: Error): void {
    if (this.#ended) return;
    this.#error = error;
    this.#finishAll();
  }

  /** There is no use for more: the reader sees the error now, whatever was still waiting. */
  fail(error: Error): void {
    if (this.#error !== undefined && this.#waiting.length === 0) return;
    this.#clear();
    this.#error = error;
    this.#finishAll();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      const reader = { resolve, reject };
      if (this.#waiting.length > 0) this.#take(reader);
      else if (this.#ended) this.#finish(reader);
      else this.#readers.push(reader);
    });
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#ended || this.#waiting.length > 0) this.#abandon();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(reader: Reader<T>): void {
    const message = this.#waiting.shift() as Uint8Array;
    this.#bytes -= message.length;
    try {
      reader.resolve({ done: false, value: this.#decode(message) });
    } catch (error) {
      reader.reject(error as Error);
      this.#abandon();
      return;
    }
    if (this.#waiting.length > 0) return;
    this.#paused = false;
    this.#flow.resume();
  }

  /** An error is thrown once; after it, as after the end, there is nothing more. */
  #finish(reader: Reader<T>): void {
    const error = this.#error;
    this.#error = undefined;
    if (error === undefined) reader.resolve({ done: true, value: undefined });
    else reader.reject(error);
  }

  #finishAll(): void {
    this.#ended = true;
    if (this.#waiting.length === 0) for (const reader of this.#readers.splice(0)) this.#finish(reader);
  }

  #abandon(): void {
    this.#clear();
    this.#finishAll();
    this.#flow.abandon();
  }

  #clear(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#error = undefined;
  }
}
