/**
 * Throttles a client that repeats a request at once after it was refused in an overload. So such a
 * client causes a bounded number of refusals a second. Over HTTP/1.1 the next request of the same
 * kind stays unparsed for a while. Other requests of the connection are served, because a proxy may
 * send the requests of many callers. Over HTTP/2 the response that refuses is delayed instead.
 */

/**
 * The longest delay, in milliseconds; the shortest is half of it. Even after the longest wait in
 * the queue the client gets its response within a second.
 */
const MAX_DELAY_MS = 600;
/** Bytes of a request that may stay unparsed. More would take memory that no budget counts. */
const MAX_UNPARSED = 4 * 1024;

/**
 * What may follow the throttled endpoint's last segment; any other character makes it another path.
 */
const ENDS_SEGMENT: ReadonlySet<number | undefined> = new Set(Buffer.from(" ?/"));

/**
 * How long a client is throttled, in milliseconds. The time is random, so that clients that were
 * refused together do not return together.
 * @param maxMs default `MAX_DELAY_MS`
 */
export function throttleDelay(maxMs = MAX_DELAY_MS): number {
  return maxMs * (0.5 + Math.random() / 2);
}

export interface ThrottleOptions {
  /** The method of the refused request. */
  readonly method: string;
  readonly target: string;
  readonly maxMs?: number | undefined;
  /** Called once, unless `end` is called before. */
  onEnd(): void;
}

/**
 * Delays the next request of an HTTP/1.1 connection if it calls the same endpoint as a refused one.
 */
export class Throttle {
  readonly #timer: NodeJS.Timeout;
  /** How requests of the same kind begin: `GET /qr/generate`. */
  readonly #start: string;

  constructor({ method, target, maxMs, onEnd }: ThrottleOptions) {
    this.#start = `${method} ${endpointOf(target)}`;
    this.#timer = setTimeout(onEnd, throttleDelay(maxMs));
  }

  /** Whether the request that begins at this index of a chunk must wait. */
  delays(chunk: Buffer, at: number): boolean {
    const end = at + this.#start.length;
    if (chunk.length - at > MAX_UNPARSED || chunk.latin1Slice(at, end) !== this.#start) return false;
    return ENDS_SEGMENT.has(chunk[end]);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The path without its query, at most four segments of it: `/v1/helloworld/call`. */
function endpointOf(target: string): string {
  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  let end = 0;
  for (let segment = 0; segment < 4 && end >= 0; segment++) end = path.indexOf("/", end + 1);
  return end < 0 ? path : path.slice(0, end);
}
