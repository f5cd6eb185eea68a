/**
 * The streams that have ended last. Frames for a stream that has ended mean different things (RFC 9113, section 5.1): for
 * one that we have reset they were under way and are ignored; for one that the peer has ended they are an error. Those that
 * ended long ago are forgotten, so that nothing grows.
 */
const REMEMBERED = 512;

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

  /** A stream that we have reset has been ended by the peer too: nothing is under way any more. */
  endedByPeer(id: number): void {
    const index = this.#ids.indexOf(id);
    if (index >= 0) this.#byUs[index] = 0;
  }
}
