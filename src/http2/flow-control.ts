/**
 * Flow control for the data that this end receives (RFC 9113, section 5.2). The windows of a
 * connection and of each of its streams count the bytes that the peer may still send.
 *
 * WINDOW_UPDATE is sent for half a window at a time, so there is one for many frames. On a
 * connection, bytes count as read when they arrive, because one paused stream must not block the
 * others. On a stream, they count as read when the reader takes them, so a pause stops the peer.
 */

/** Bytes that the peer may send on a stream before this end has read them. */
export const STREAM_WINDOW = 256 * 1024;
/** Bytes that the peer may send on a connection, on all streams together. */
export const CONNECTION_WINDOW = 16 * 2 ** 20;

export class ReceiveWindow {
  readonly #size: number;
  /** Bytes that the peer may still send. */
  #left: number;
  /** Bytes that were read, and for which no WINDOW_UPDATE was sent yet. */
  #taken = 0;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** @returns false when the peer has sent more than it may */
  receive(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /**
   * The reader has taken bytes.
   * @returns the increment of a WINDOW_UPDATE that must be sent now; usually 0
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
