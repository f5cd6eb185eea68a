/**
 * Holds back a client that asks again at once after it was refused in an overload: its next request of the same kind is not parsed
 * for a while. So a client that asks again after each refusal costs a bounded number of refusals a second. Other requests of the
 * connection are served, because a proxy sends those of many callers.
 */
import { timeOfHold } from "../time-of-hold.js";

/** A request of which more bytes have arrived does not wait unread: they would take memory. */
const MAX_HELD = 4 * 1024;

/** What may follow the last segment: a path goes on with other calls where another character does. */
const ENDS_SEGMENT: ReadonlySet<number | undefined> = new Set(Buffer.from(" ?/"));

export interface HoldOptions {
  /** Of the request that was refused. */
  readonly method: string;
  readonly target: string;
  readonly holdMs?: number | undefined;
  /** Is called once, unless the hold is ended before. */
  onEnd(): void;
}

export class Hold {
  readonly #timer: NodeJS.Timeout;
  /** How requests of the same kind begin: `GET /qr/generate`. */
  readonly #start: string;

  constructor({ method, target, holdMs, onEnd }: HoldOptions) {
    this.#start = `${method} ${endpointOf(target)}`;
    this.#timer = setTimeout(onEnd, timeOfHold(holdMs));
  }

  /** Whether a request waits that begins here. */
  holds(chunk: Buffer, at: number): boolean {
    const end = at + this.#start.length;
    if (chunk.length - at > MAX_HELD || chunk.latin1Slice(at, end) !== this.#start) return false;
    return ENDS_SEGMENT.has(chunk[end]);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The path up to the query, and up to its fourth segment: `/v1/helloworld/call`. */
function endpointOf(target: string): string {
  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  let end = 0;
  for (let segment = 0; segment < 4 && end >= 0; segment++) end = path.indexOf("/", end + 1);
  return end < 0 ? path : path.slice(0, end);
}
