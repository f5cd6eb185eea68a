/**
 * A client may read a stream slowly, but not stop for good: what waits for it would be held as long as it likes. Told by
 * the bytes that leave this process, as node's own timeouts do, but without letting what the client sends count too.
 */
import type { Socket } from "node:net";

/**
 * A client that takes nothing for this long, and at most twice as long, while something waits for it is cut. So long
 * because the system takes some 4 MiB ahead of the client, and no more before a good part is read: a client that reads
 * 1 KiB/s, slow but well, takes nothing for some twenty minutes.
 */
export const STALL_MS = 30 * 60_000;

/**
 * What node:net keeps to itself. What it shows, `bytesWritten` less `writableLength`, stands still until a write is whole: with
 * a message of 4 MiB and a client that reads 1 KiB/s for more than an hour.
 */
interface Handle {
  /** Bytes handed to the system, or waiting to be. */
  readonly bytesWritten: number;
  /** Of them, those waiting. */
  readonly writeQueueSize: number;
}

export class Stall {
  readonly #socket: Socket & { readonly _handle?: Handle | null };
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, ms = STALL_MS) {
    this.#socket = socket;
    this.#ms = ms;
  }

  /** Something waits for the client. */
  begin(): void {
    if (this.#timer !== undefined) return;
    let before = this.#taken();
    this.#timer = setInterval(() => {
      const now = this.#taken();
      if (now === before) this.#socket.destroy();
      before = now;
    }, this.#ms);
  }

  /** Nothing does any more, or the connection is closed. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #taken(): number {
    const { _handle: handle } = this.#socket;
    return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
  }
}
