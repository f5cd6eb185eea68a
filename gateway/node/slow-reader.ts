/**
 * The timeout of clients that stop reading, because the data that waits for them uses memory.
 * Progress is measured by the bytes that leave this process. Node's own timeout would also count
 * bytes that the client sends.
 */
import type { Socket } from "node:net";

/**
 * A connection is closed when its client reads nothing for this time while data is waiting for it,
 * at the latest after twice the time. The system buffers about 4 MiB for a client. So a client that
 * reads 1 KiB/s seems to read nothing for about twenty minutes.
 */
export const SLOW_READER_MS = 30 * 60_000;

/** Checks without progress before the connection is closed: normally, and while memory is short. */
const CHECKS = 30;
const CHECKS_WHEN_SHORT = 1;

/**
 * The part of node:net's private handle that is needed. The public figure is `bytesWritten` minus
 * `writableLength`. It changes only when a whole write is done. For a message of 4 MiB and a client
 * that reads 1 KiB/s, that takes more than an hour.
 */
interface Handle {
  /** Bytes given to the system, or waiting to be given. */
  readonly bytesWritten: number;
  /** The waiting part of these bytes. */
  readonly writeQueueSize: number;
}

/**
 * Destroys a connection whose client has read nothing for `timeoutMs` while data is waiting for it.
 */
export class SlowReaderTimeout {
  readonly #socket: Socket & { readonly _handle?: Handle | null };
  readonly #timeoutMs: number;
  readonly #isShort: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  /** @param isShort whether memory is short in this process: then a client has much less time */
  constructor(socket: Socket, timeoutMs = SLOW_READER_MS, isShort: () => boolean = () => false) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    this.#isShort = isShort;
  }

  /** Data is waiting for the client. */
  start(): void {
    if (this.#timer !== undefined) return;
    let before = this.#bytesTaken();
    let idleChecks = 0;
    this.#timer = setInterval(() => {
      const now = this.#bytesTaken();
      idleChecks = now === before ? idleChecks + 1 : 0;
      before = now;
      if (idleChecks > (this.#isShort() ? CHECKS_WHEN_SHORT : CHECKS)) this.#socket.destroy();
      if (this.#socket.destroyed) this.stop();
    }, this.#timeoutMs / CHECKS);
  }

  /** No data is waiting any more, or the connection is closed. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #bytesTaken(): number {
    const { _handle: handle } = this.#socket;
    return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
  }
}
