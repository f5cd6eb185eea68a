/**
 * Flow control (RFC 9113, section 5.2). A window counts what may still be sent; each connection and each stream has one a
 * direction.
 *
 * What we receive is given back in batches of half a window, so that a WINDOW_UPDATE is sent once for many frames. A
 * connection gives back whatever arrives, because one paused stream must not hold up the others; a stream gives back
 * only what its reader was ready to take, which is what makes `pause` reach the peer.
 */

/** What a stream may have unread. */
export const STREAM_WINDOW = 256 * 1024;
/** What a connection may send before it is heard: enough for all its streams. */
export const CONNECTION_WINDOW = 16 * 2 ** 20;

export class ReceiveWindow {
  readonly #size: number;
  /** What the peer may still send. */
  #left: number;
  /** What has been taken, and not been given back yet. */
  #taken = 0;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** The peer has sent so many bytes. False where it was not allowed to. */
  receive(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** So many bytes have found a place. Gives the increment to be announced now, mostly 0. */
  take(bytes: number): number {
    this.#taken += bytes;
    if (this.#taken < this.#size / 2) return 0;
    const increment = this.#taken;
    this.#taken = 0;
    this.#left += increment;
    return increment;
  }
}
