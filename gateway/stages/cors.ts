/**
 * Which web pages may call: those of the gateway's own origin, and those of the origins in `PORTICO_CORS`
 * (https://fetch.spec.whatwg.org/#http-cors-protocol), never with credentials. CORS alone keeps a page from reading an
 * answer, not from sending a request: an image, a form or a "simple" fetch arrives all the same. So a request that a page
 * of another origin made is refused, by what browsers say of it: `Sec-Fetch-Site` (https://www.w3.org/TR/fetch-metadata/),
 * which they send to https and loopback addresses, else `Origin`, which they send with all but GET and HEAD without CORS.
 */
import { HttpError } from "../errors.js";
import type { RequestHeaders } from "../request-headers.js";

const METHODS = "GET, HEAD, POST";
const HEADERS = "Authorization, Content-Type, Platform-Namespace, X-Request-Id, Grpc-Timeout, Traceparent, Tracestate";
const EXPOSED = "X-Request-Id, Retry-After";
/** Two hours, the most that browsers keep. */
const MAX_AGE = "7200";

const ANY = ["Access-Control-Allow-Origin", "*", "Access-Control-Expose-Headers", EXPOSED];
const VARY = ["Vary", "Origin"];
const NONE: readonly string[] = [];

export class Cors {
  readonly #origins: ReadonlySet<string> | "*";

  constructor(origins: readonly string[] | "*") {
    this.#origins = origins === "*" ? "*" : new Set(origins);
  }

  /**
   * Headers of an answer. It varies with the origin only where not all origins are alike, or nothing is said to those
   * that send none; which does not count, since no answer may be stored.
   */
  headers({ origin }: RequestHeaders): readonly string[] {
    if (this.#origins === "*") return origin === undefined ? NONE : ANY;
    if (this.#origins.size === 0) return NONE;
    if (origin === undefined || !this.#origins.has(origin)) return VARY;
    return [...VARY, "Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", EXPOSED];
  }

  /** Whether a page of an origin that may not call made the request, as far as its headers tell. */
  isForeign(headers: RequestHeaders): boolean {
    const { fetchSite, origin } = headers;
    if (fetchSite === undefined && origin === undefined) return false;
    return isOfAnotherOrigin(headers) && !this.#allows(origin);
  }

  /** An image or a script has no Origin, so only where all are welcome it is. */
  #allows(origin: string | undefined): boolean {
    return this.#origins === "*" || (origin !== undefined && this.#origins.has(origin));
  }

  /** Whether a browser asks if it may call. */
  isPreflight(method: string, { origin, requestMethod }: RequestHeaders): boolean {
    return method === "OPTIONS" && origin !== undefined && requestMethod !== undefined;
  }

  /**
   * What a preflight is answered besides, whatever its path: a page that calls a path which is not there should get to
   * read the 404.
   */
  preflight({ origin }: RequestHeaders): readonly string[] {
    if (!this.#allows(origin)) return [];
    return [
      ...["Access-Control-Allow-Methods", METHODS],
      ...["Access-Control-Allow-Headers", HEADERS],
      ...["Access-Control-Max-Age", MAX_AGE],
    ];
  }
}

/** Whether a browser followed a link, or was sent on: its answer is a page of its own, which the one before cannot read. */
export function isNavigation(method: string, { fetchMode }: RequestHeaders): boolean {
  return method === "GET" && fetchMode === "navigate";
}

/** What a page is told that may not call. */
export function foreignPage({ origin }: RequestHeaders): HttpError {
  const pages = origin === undefined ? "other origins" : origin.slice(0, MAX_ORIGIN);
  return new HttpError(403, `Pages of ${pages} may not call here; PORTICO_CORS names the origins that may`);
}

/** Most characters of an origin that an error repeats. */
const MAX_ORIGIN = 128;

/** A proxy may speak TLS for the gateway, so the scheme of the gateway's own origin is not known. */
function isOfAnotherOrigin({ fetchSite, origin, host }: RequestHeaders): boolean {
  if (fetchSite === "same-origin" || fetchSite === "none") return false;
  if (fetchSite === "cross-site" || fetchSite === "same-site") return true;
  return origin !== undefined && /^https?:\/\/(.*)$/.exec(origin)?.[1] !== host;
}
