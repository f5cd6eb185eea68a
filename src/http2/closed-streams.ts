/**
 * The streams that were closed last. A frame for a closed stream is treated by how the stream was closed (RFC 9113, section
 * 5.1): where we have reset it, the frame was under way and is ignored; where the peer has ended it, the frame is an error.
 */

/** Streams that are remembered; older ones are forgotten. */
const REMEMBERED = 512;

/** Who closed a stream. */
export type Ending = "by us" | "by the peer";

export class ClosedStreams {
  readonly #ids = new Uint32Array(REMEMBERED);
  readonly #byUs = new Uint8Array(REMEMBERED);
  #next = 0;

  add(id: number, ending: Ending): void {
    this.#ids[this.#next] = id;
    this.#byUs[this.#next] = ending === "by us" ? 1 : 0;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  find(id: number): Ending | undefined {
    const index = this.#ids.indexOf(id);
    if (index < 0) return undefined;
    return this.#byUs[index] ? "by us" : "by the peer";
  }

  /** The peer, too, has ended a stream that we have reset: no more of its frames are under way. */
  endedByPeer(id: number): void {
    const index = this.#ids.indexOf(id);
    if (index >= 0) this.#byUs[index] = 0;
  }
}
