/**
 * Cross-origin calls from browsers (https://fetch.spec.whatwg.org/#http-cors-protocol). Never with credentials: a page
 * that calls must hold a token of its own, so an origin is no proof of anything and any is welcome unless configured.
 */
import type { RequestHeaders } from "./headers.js";

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

  allows(origin: string): boolean {
    return this.#origins === "*" || this.#origins.has(origin);
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
    if (this.#origins !== "*" && !(origin !== undefined && this.#origins.has(origin))) return [];
    return [
      ...["Access-Control-Allow-Methods", METHODS],
      ...["Access-Control-Allow-Headers", HEADERS],
      ...["Access-Control-Max-Age", MAX_AGE],
    ];
  }
}
