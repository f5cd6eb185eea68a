/**
 * The memory for bodies of requests, over all connections: a bound on each body alone would let as many of them as there
 * are connections take all there is.
 */

/** Bytes of bodies at once; or two bodies, where `maxBody` is so large that these are more. */
const ROOM = 256 * 1024 ** 2;
/** What a piece of a body takes beside its bytes, at least: a body may come a byte at a time. */
const PIECE = 128;

export class BodyRoom {
  #left: number;

  constructor(maxBody: number, room: number = Math.max(ROOM, 2 * maxBody)) {
    this.#left = room;
  }

  /** Takes room for a piece, where there is enough. Gives how much, to be given back; 0 where there is not. */
  take(bytes: number): number {
    const size = bytes + PIECE;
    if (size > this.#left) return 0;
    this.#left -= size;
    return size;
  }

  giveBack(size: number): void {
    this.#left += size;
  }
}
