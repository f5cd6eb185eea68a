/**
 * A queue of messages between a transport's callbacks and a reader's `for await`. The transport is
 * paused while the queue is full, and resumed when it is empty. So a slow reader slows the sender,
 * and the queue does not grow. Messages wait as bytes and are decoded when they are read. So the
 * queue's limit is in bytes, and a message that is never read is never decoded.
 */

/**
 * A queue of messages, in either direction of a call, is full when it reaches one of these limits.
 * Its sender then waits.
 */
export const MAX_QUEUED_MESSAGES = 16;
export const MAX_QUEUED_BYTES = 65_536;

/** How a queue controls its sender. */
export interface Flow {
  pause(): void;
  /** The queue is empty. Called whether the sender was paused or not. */
  resume(): void;
  /** The reader stopped before the end. */
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
  #held = false;
  #paused = false;
  #ended = false;
  #error: Error | undefined;

  /** @param decode may throw; then the reader gets the error, and the sender is abandoned */
  constructor(decode: (bytes: Uint8Array) => T, flow: Flow) {
    this.#decode = decode;
    this.#flow = flow;
  }

  push(message: Uint8Array): void {
    if (this.#ended) return;
    this.#waiting.push(message);
    this.#bytes += message.length;
    const reader = this.#held ? undefined : this.#readers.shift();
    if (reader !== undefined) this.#take(reader);
    else if (!this.#paused && (this.#waiting.length >= MAX_QUEUED_MESSAGES || this.#bytes >= MAX_QUEUED_BYTES)) {
      this.#paused = true;
      this.#flow.pause();
    }
  }

  /** Delivers nothing to the reader until `release`. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    while (this.#waiting.length > 0 && this.#readers.length > 0) this.#take(this.#readers.shift() as Reader<T>);
    if (this.#ended && this.#waiting.length === 0) this.#finishAll();
  }

  /**
   * No more messages will come. After the waiting messages the reader gets the error, if there is
   * one.
   */
  end(error?: Error): void {
    if (this.#ended) return;
    this.#error = error;
    this.#finishAll();
  }

  /** Drops the waiting messages, so the reader gets the error next. */
  fail(error: Error): void {
    if (this.#error !== undefined && this.#waiting.length === 0) return;
    this.#clear();
    this.#error = error;
    this.#finishAll();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      const reader = { resolve, reject };
      if (this.#waiting.length > 0 && !this.#held) this.#take(reader);
      else if (this.#ended && this.#waiting.length === 0) this.#finish(reader);
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

  /** An error is thrown once; after it the iteration has ended. */
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
