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

/** So many times it is looked whether the client takes anything, before it is cut; and while memory is short. */
const LOOKS = 30;
const SHORT_LOOKS = 1;

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
  readonly #isShort: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  /** @param isShort whether memory is short in this process: then what waits for a client is not held for so long */
  constructor(socket: Socket, ms = STALL_MS, isShort: () => boolean = () => false) {
    this.#socket = socket;
    this.#ms = ms;
    this.#isShort = isShort;
  }

  /** Something waits for the client. */
  begin(): void {
    if (this.#timer !== undefined) return;
    let before = this.#taken();
    let stalls = 0;
    this.#timer = setInterval(() => {
      const now = this.#taken();
      stalls = now === before ? stalls + 1 : 0;
      before = now;
      if (stalls > (this.#isShort() ? SHORT_LOOKS : LOOKS)) this.#socket.destroy();
      if (this.#socket.destroyed) this.end();
    }, this.#ms / LOOKS);
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
