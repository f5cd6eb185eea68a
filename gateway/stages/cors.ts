/**
 * Stage 1, cors: checks the host, and which web pages may send requests
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). Pages of the gateway's own origin and of the
 * origins in `PORTICO_CORS` may. They never send cookies, which CORS calls credentials. They send a
 * token in the header Authorization.
 *
 * CORS prevents a page from reading a response. It does not prevent a page from sending a request,
 * for example by an image or a form. So the gateway itself rejects requests of cross-origin pages.
 * It recognizes them by `Sec-Fetch-Site` (https://www.w3.org/TR/fetch-metadata/), which browsers
 * send to https and loopback addresses. Without that header it uses `Origin`, which browsers send
 * with all requests except GET and HEAD without CORS.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { HttpAddress } from "../../src/address/address.js";
import { isBelowLocalhost, isLoopback } from "../../src/address/loopback.js";
import type { Config } from "../../src/config/config.js";
import { HttpError } from "../http/errors.js";
import type { RequestHeaders } from "../http/headers.js";
import type { BareResponse, GatewayRequest } from "../http/message.js";
import { pathOf } from "../http/target.js";

/**
 * Ends a request with:
 * - 204 a preflight for any path, so that a page that calls a missing path can read the 404
 * - 403 a page of an origin that may not call sent the request, and it is not a navigation
 * - 421 the host is not served here (DNS rebinding)
 * @returns the reply to a preflight; undefined for any other request
 */
export function checkCors(
  { method, target, headers }: GatewayRequest,
  { cors, hosts }: { readonly cors: Cors; readonly hosts: Hosts },
): BareResponse | undefined {
  hosts.check(headers);
  const isCrossOrigin = cors.isCrossOrigin(headers);
  const isOpen = isCrossOrigin && isOpenPath(target);
  if (isCrossOrigin && !isOpen && !isNavigation(method, headers)) throw crossOriginRefused(headers);
  // These headers together make a CORS-preflight request: may a page send this request?
  if (method !== "OPTIONS" || headers.origin === undefined || headers.requestMethod === undefined) return undefined;
  return { status: 204, headers: isOpen ? OPEN_PREFLIGHT : cors.preflight(headers), body: "" };
}

/**
 * Whether pages of every origin may send requests to a path: an OAuth client in a browser reads the
 * metadata, and exchanges its code. Neither depends on who the browser's user is.
 */
function isOpenPath(target: string): boolean {
  const path = pathOf(target);
  return path === "/oauth/token" || path.startsWith("/.well-known/");
}

/**
 * `*` exposes the service's metadata. In a response to a request without cookies it stands for
 * every name (https://fetch.spec.whatwg.org/#http-access-control-expose-headers).
 */
const EXPOSED = "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, *";
const ANY = ["Access-Control-Allow-Origin", "*", "Access-Control-Expose-Headers", EXPOSED];
const VARY = ["Vary", "Origin"];
const NONE: readonly string[] = [];
const PREFLIGHT = [
  ...["Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"],
  "Access-Control-Allow-Headers",
  // `*` allows metadata and the headers of gRPC-Web and Connect. It does not stand for
  // Authorization.
  "Authorization, Content-Type, Platform-Namespace, X-Request-Id, Grpc-Timeout, Traceparent, Tracestate, *",
  ...["Access-Control-Max-Age", "7200"], // Two hours, the maximum in browsers.
];

const OPEN_PREFLIGHT = ["Access-Control-Allow-Origin", "*", ...PREFLIGHT];

/** The origins whose pages may call. */
export class Cors {
  readonly #origins: ReadonlySet<string> | "*";

  constructor(origins: readonly string[] | "*") {
    this.#origins = origins === "*" ? "*" : new Set(origins);
  }

  /**
   * Headers of every response. `Vary: Origin` is left out where all origins get the same headers.
   * That is safe because responses have `no-store`.
   */
  headers({ origin }: RequestHeaders): readonly string[] {
    if (this.#origins === "*") return origin === undefined ? NONE : ANY;
    if (this.#origins.size === 0) return NONE;
    if (origin === undefined || !this.#origins.has(origin)) return VARY;
    return [...VARY, "Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", EXPOSED];
  }

  /** Whether the headers show that a page of an origin that may not call sent the request. */
  isCrossOrigin(headers: RequestHeaders): boolean {
    const { fetchSite, origin } = headers;
    if (fetchSite === undefined && origin === undefined) return false;
    return isOfAnotherOrigin(headers) && !this.#allows(origin);
  }

  /**
   * A request for an image or a script has no Origin, so it is allowed only where every origin is.
   */
  #allows(origin: string | undefined): boolean {
    return this.#origins === "*" || (origin !== undefined && this.#origins.has(origin));
  }

  /** Headers that only the response to a preflight has. */
  preflight({ origin }: RequestHeaders): readonly string[] {
    return this.#allows(origin) ? PREFLIGHT : NONE;
  }
}

/**
 * Whether a browser follows a link. The response becomes a new page, which the page with the link
 * cannot read.
 */
function isNavigation(method: string, { fetchMode }: RequestHeaders): boolean {
  return method === "GET" && fetchMode === "navigate";
}

/** The error for a request of a page of another origin. */
export function crossOriginRefused({ origin }: RequestHeaders): CrossOriginError {
  return new CrossOriginError(origin?.slice(0, MAX_ORIGIN));
}

export class CrossOriginError extends HttpError {
  /** @param origin undefined for a request without one, such as for an image */
  constructor(readonly origin: string | undefined) {
    super(403, `Pages of ${origin ?? "other origins"} may not call here; PORTICO_CORS names the origins that may`);
  }
}

const MAX_ORIGIN = 128;

/**
 * Whether a page of another origin sent the request. Schemes are not compared: a proxy may
 * terminate TLS, so the gateway does not know the scheme of its own origin.
 */
export function isOfAnotherOrigin({ fetchSite, origin, host }: RequestHeaders): boolean {
  if (fetchSite === "same-origin" || fetchSite === "none") return false;
  if (fetchSite === "cross-site" || fetchSite === "same-site") return true;
  return origin !== undefined && /^https?:\/\/(.*)$/.exec(origin)?.[1] !== host;
}

/**
 * The host names that a port serves, as a defence against DNS rebinding.
 *
 * In that attack a browser loads a page from a name. Then the owner of the name makes it resolve to
 * this computer. The browser now takes the page and this port for one origin. Only the header
 * `Host` still has the attacker's name. So a port bound to loopback serves only loopback names and
 * configured names. A port that other computers can reach also serves IP addresses: rebinding needs
 * a name, and probes and Prometheus know a container only by its address.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #any: boolean;
  readonly #addresses: boolean;
  /**
   * The last `Host` that was accepted. Clients repeat it, so most requests need no further check.
   */
  #accepted: string | undefined;

  private constructor(names: readonly string[], isOpen: boolean) {
    this.#names = new Set(names);
    this.#any = isOpen && names.length === 0;
    this.#addresses = isOpen;
  }

  /**
   * The host names of a port that listens at `address`. Any name is served where the address is
   * neither a loopback address nor a Unix socket, and no names are configured.
   * @param names configured ones, in lower case and without ports; `*` means any
   */
  static async of(address: HttpAddress, names: Config["httpHosts"]): Promise<Hosts> {
    if (names === "*") return new Hosts([], true);
    // Only programs of this machine reach a Unix socket.
    return new Hosts(names, "host" in address && !(await listensAtLoopback(address.host)));
  }

  /**
   * Rejects a request for another host. A request without Host is HTTP/1.0, which no browser sends.
   * @throws {HttpError} 421
   */
  check({ host }: RequestHeaders): void {
    if (this.#any || host === undefined || host === this.#accepted) return;
    const name = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1]?.toLowerCase();
    if (
      name === undefined ||
      !(isLoopbackName(name) || this.#names.has(name) || (this.#addresses && isAddress(name)))
    ) {
      const shown = JSON.stringify(host.slice(0, MAX_SHOWN_HOST));
      throw new HttpError(421, `The host ${shown} is not served here; PORTICO_HTTP_HOSTS names hosts that are`);
    }
    this.#accepted = host;
  }
}

const MAX_SHOWN_HOST = 128;

/** Whether the value of a header Host is a loopback name or address. */
export function isLoopbackHost(host: string): boolean {
  return isLoopbackName(host.replace(/:\d*$/, "").toLowerCase());
}

/** @param name as written in `Host`: IPv6 in brackets (RFC 3986 §3.2.2) */
function isLoopbackName(name: string): boolean {
  return isLoopback(name.replace(/^\[(.*)\]$/, "$1")) || isBelowLocalhost(name);
}

/** Whether `name` is an address as written in `Host`: IPv6 in brackets (RFC 3986 §3.2.2). */
function isAddress(name: string): boolean {
  return isIP(name) === 4 || (name.startsWith("[") && isIP(name.slice(1, -1)) === 6);
}

/**
 * A name that does not resolve counts as not loopback. Listening at it fails anyway, with an error
 * that names it.
 */
async function listensAtLoopback(host: string): Promise<boolean> {
  const literal = isIP(host) === 6 ? `[${host}]` : host;
  if (isLoopbackName(literal) || isIP(host) !== 0) return isLoopbackName(literal);
  const { address } = await lookup(host).catch(() => ({ address: "" }));
  return isLoopbackName(address.includes(":") ? `[${address}]` : address);
}
