/**
 * Flow control for what we receive (RFC 9113, section 5.2): the window of a connection and of each of its streams counts
 * the bytes that the peer may still send.
 *
 * Bytes are given back to the peer in batches of half a window, so that there is one WINDOW_UPDATE for many frames. A
 * connection gives bytes back as they arrive, because one paused stream must not hold up the others; a stream only when its
 * reader takes them, so that a pause reaches the peer.
 */

/** Bytes that the peer may send on a stream before we have read them. */
export const STREAM_WINDOW = 256 * 1024;
/** Bytes that the peer may send on a connection, on all streams together. */
export const CONNECTION_WINDOW = 16 * 2 ** 20;

export class ReceiveWindow {
  readonly #size: number;
  /** Bytes that the peer may still send. */
  #left: number;
  /** Bytes that have been taken, and not been given back yet. */
  #taken = 0;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** @returns false where the peer has sent more than it may */
  receive(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /**
   * The reader has taken bytes.
   * @returns the increment for a WINDOW_UPDATE to be sent now; mostly 0
   */
  take(bytes: number): number {
    this.#taken += bytes;
    if (this.#taken < this.#size / 2) return 0;
    const increment = this.#taken;
    this.#taken = 0;
    this.#left += increment;
    return increment;
  }
}
