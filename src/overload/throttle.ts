/**
 * Throttles a client that asks again at once after it was refused in an overload. So such a client costs a bounded number of
 * refusals a second. Over HTTP/1.1 its next request of the same kind stays unparsed for a while; other requests of the connection are
 * served, because a proxy sends those of many callers. Over HTTP/2 the response that refuses is delayed instead.
 */

/** The longest delay, in milliseconds; the shortest is half of it. After the longest wait in the queue the client is answered within a second. */
const MAX_DELAY_MS = 600;
/** Bytes of a request that may stay unparsed. More would take memory that is not in the budget. */
const MAX_UNPARSED = 4 * 1024;

/** What may follow the last segment: a path goes on with other calls where another character does. */
const ENDS_SEGMENT: ReadonlySet<number | undefined> = new Set(Buffer.from(" ?/"));

/**
 * How long a client is throttled, in milliseconds. At random, so that clients which were refused together do not come back together.
 * @param maxMs default `MAX_DELAY_MS`
 */
export function throttleDelay(maxMs = MAX_DELAY_MS): number {
  return maxMs * (0.5 + Math.random() / 2);
}

export interface ThrottleOptions {
  /** Of the request that was refused. */
  readonly method: string;
  readonly target: string;
  readonly maxMs?: number | undefined;
  /** Called once, unless the throttle is ended before. */
  onEnd(): void;
}

/** Delays the next request of an HTTP/1.1 connection that is like one that was refused. */
export class Throttle {
  readonly #timer: NodeJS.Timeout;
  /** How requests of the same kind begin: `GET /qr/generate`. */
  readonly #start: string;

  constructor({ method, target, maxMs, onEnd }: ThrottleOptions) {
    this.#start = `${method} ${endpointOf(target)}`;
    this.#timer = setTimeout(onEnd, throttleDelay(maxMs));
  }

  /** Whether the request that begins at this place of a chunk must wait. */
  delays(chunk: Buffer, at: number): boolean {
    const end = at + this.#start.length;
    if (chunk.length - at > MAX_UNPARSED || chunk.latin1Slice(at, end) !== this.#start) return false;
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
