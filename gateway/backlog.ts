/**
 * Requests to one service that wait as the bytes that were read, while its channel is full. A call that waits in the channel keeps
 * all its objects, which the garbage collector then copies (docs/performance.md, "The mesh").
 */
import type { Channel } from "../src/rpc/channel.js";

/** How long a request waits at most before it is read, in milliseconds: as long as one may wait for its turn (src/overload.ts). */
export const MAX_UNREAD_MS = 250;
/**
 * The share of a full channel's calls that requests which waited here get: not all calls come from here, and those that do must not
 * wait for the others to leave room.
 */
const SHARE_OF_FULL = 0.5;

/** A connection whose next request waits. */
export interface UnreadRequest {
  /** Reads the request, unless it waits no more. */
  readUnread(): void;
}

/** Where requests to a service wait, as a connection sees it. */
export type UnreadRequests = Pick<Backlog, "isFull" | "wait">;

interface Entry {
  readonly request: UnreadRequest;
  /** In milliseconds of `performance.now()`. */
  readonly since: number;
}

export class Backlog {
  readonly #channel: Pick<Channel, "isFull">;
  /** Oldest first. */
  readonly #waiting: Entry[] = [];
  /** Runs while requests wait. */
  #timer: NodeJS.Timeout | undefined;
  /** Calls that have ended since requests were read last; while some have, the next are read at the end of this turn. */
  #ended = 0;

  /** @param channel to the service */
  constructor(channel: Pick<Channel, "isFull">) {
    this.#channel = channel;
  }

  /** Whether another request has to wait, behind those that do. */
  get isFull(): boolean {
    return this.#waiting.length > 0 || this.#channel.isFull === true;
  }

  wait(request: UnreadRequest): void {
    this.#waiting.push({ request, since: performance.now() });
    this.#timer ??= setTimeout(this.#readLate, MAX_UNREAD_MS);
  }

  /** A call to the service has ended. */
  onCallEnd(): void {
    if (this.#waiting.length > 0 && this.#ended++ === 0) setImmediate(this.#readNext);
  }

  readonly #readNext = (): void => {
    const share = this.#ended * SHARE_OF_FULL;
    this.#ended = 0;
    for (let count = 0; this.#waiting.length > 0 && (count < share || !this.#channel.isFull); count++) {
      this.#readFirst();
    }
  };

  readonly #readLate = (): void => {
    const since = performance.now() - MAX_UNREAD_MS;
    while (this.#waiting.length > 0 && this.#waiting[0]!.since <= since) this.#readFirst();
    const [next] = this.#waiting;
    this.#timer = next && setTimeout(this.#readLate, Math.ceil(next.since - since));
  };

  #readFirst(): void {
    this.#waiting.shift()?.request.readUnread();
  }
}
