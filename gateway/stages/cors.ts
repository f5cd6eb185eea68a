/**
 * Stage 1, cors: which hosts are served, and which web pages may send requests: those of the gateway's own origin, and of the
 * origins in `PORTICO_CORS` (https://fetch.spec.whatwg.org/#http-cors-protocol), never with credentials.
 *
 * CORS keeps a page from reading a response, not from sending a request, such as an image or a form. So requests of pages of
 * other origins are rejected, by `Sec-Fetch-Site` (https://www.w3.org/TR/fetch-metadata/), which browsers send to https and
 * loopback addresses, else `Origin`, which they send with all requests but GET and HEAD without CORS.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Address } from "../../src/address/address.js";
import type { Config } from "../../src/config/config.js";
import { HttpError } from "../http/errors.js";
import type { RequestHeaders } from "../http/headers.js";
import type { BareResponse, GatewayRequest } from "../http/message.js";

/**
 * Ends a request with:
 * - 204 a preflight, whatever its path: a page that calls a path that does not exist should get to read the 404
 * - 403 a page of an origin that may not call made the request, and it is not a navigation
 * - 421 the host is not served here (DNS rebinding)
 * @returns the reply to a preflight; undefined for any other request
 */
export function checkCors(
  { method, headers }: GatewayRequest,
  { cors, hosts }: { readonly cors: Cors; readonly hosts: Hosts },
): BareResponse | undefined {
  hosts.check(headers);
  if (cors.isCrossOrigin(headers) && !isNavigation(method, headers)) throw crossOriginRefused(headers);
  // A CORS-preflight request asks whether a page may send a request.
  if (method !== "OPTIONS" || headers.origin === undefined || headers.requestMethod === undefined) return undefined;
  return { status: 204, headers: cors.preflight(headers), body: "" };
}

/** `*` is for metadata: without credentials it stands for every name (https://fetch.spec.whatwg.org/#http-access-control-expose-headers). */
const EXPOSED = "X-Request-Id, Retry-After, *";
const ANY = ["Access-Control-Allow-Origin", "*", "Access-Control-Expose-Headers", EXPOSED];
const VARY = ["Vary", "Origin"];
const NONE: readonly string[] = [];
const PREFLIGHT = [
  ...["Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"],
  "Access-Control-Allow-Headers",
  // `*` is for metadata and for what gRPC-Web and Connect send; it does not stand for Authorization.
  "Authorization, Content-Type, Platform-Namespace, X-Request-Id, Grpc-Timeout, Traceparent, Tracestate, *",
  ...["Access-Control-Max-Age", "7200"], // Two hours, the most that browsers keep.
];

/** The origins whose pages may call. */
export class Cors {
  readonly #origins: ReadonlySet<string> | "*";

  constructor(origins: readonly string[] | "*") {
    this.#origins = origins === "*" ? "*" : new Set(origins);
  }

  /** Headers of a response. `Vary: Origin` is left out where all origins get the same headers: no response may be stored. */
  headers({ origin }: RequestHeaders): readonly string[] {
    if (this.#origins === "*") return origin === undefined ? NONE : ANY;
    if (this.#origins.size === 0) return NONE;
    if (origin === undefined || !this.#origins.has(origin)) return VARY;
    return [...VARY, "Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", EXPOSED];
  }

  /** Whether, by its headers, a page of an origin that may not call made the request. */
  isCrossOrigin(headers: RequestHeaders): boolean {
    const { fetchSite, origin } = headers;
    if (fetchSite === undefined && origin === undefined) return false;
    return isOfAnotherOrigin(headers) && !this.#allows(origin);
  }

  /** A request for an image or a script has no Origin, so it is allowed only where every origin is. */
  #allows(origin: string | undefined): boolean {
    return this.#origins === "*" || (origin !== undefined && this.#origins.has(origin));
  }

  /** Headers that only the response to a preflight has. */
  preflight({ origin }: RequestHeaders): readonly string[] {
    return this.#allows(origin) ? PREFLIGHT : NONE;
  }
}

/** Whether a browser follows a link. The response becomes a page of its own, which the page before cannot read. */
function isNavigation(method: string, { fetchMode }: RequestHeaders): boolean {
  return method === "GET" && fetchMode === "navigate";
}

/** The refusal of a request that a page of another origin made. */
export function crossOriginRefused({ origin }: RequestHeaders): HttpError {
  const pages = origin === undefined ? "other origins" : origin.slice(0, MAX_ORIGIN);
  return new HttpError(403, `Pages of ${pages} may not call here; PORTICO_CORS names the origins that may`);
}

const MAX_ORIGIN = 128;

/** Whether a page of another origin made the request. A proxy may speak TLS for the gateway, so the scheme of the gateway's own origin is not known. */
export function isOfAnotherOrigin({ fetchSite, origin, host }: RequestHeaders): boolean {
  if (fetchSite === "same-origin" || fetchSite === "none") return false;
  if (fetchSite === "cross-site" || fetchSite === "same-site") return true;
  return origin !== undefined && /^https?:\/\/(.*)$/.exec(origin)?.[1] !== host;
}

/**
 * The host names that a port serves, as a defence against DNS rebinding: the owner of a name has it resolve to this machine
 * after the browser has loaded a page from it; then the browser takes the page and this port for one origin, and only `Host`
 * still has the foreign name. So a port bound to loopback serves loopback names and configured names only. A port that others reach
 * serves addresses as well: rebinding needs a name, and probes and Prometheus know a container by its address alone.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #any: boolean;
  readonly #addresses: boolean;
  /** The last `Host` that was accepted, since clients repeat it. */
  #accepted: string | undefined;

  private constructor(names: readonly string[], isOpen: boolean) {
    this.#names = new Set(names);
    this.#any = isOpen && names.length === 0;
    this.#addresses = isOpen;
  }

  /**
   * The host names of a port that listens at `address`: any name, where that is no loopback address and none is configured.
   * @param names configured ones, in lower case and without ports; `*` means any
   */
  static async of({ host }: Address, names: Config["httpHosts"]): Promise<Hosts> {
    if (names === "*") return new Hosts([], true);
    return new Hosts(names, !(await isLoopback(host)));
  }

  /** Refuses a request for another host. One without Host is HTTP/1.0, which no browser speaks. @throws {HttpError} 421 */
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

/** Whether a header Host has a loopback name or address. */
export function isLoopbackHost(host: string): boolean {
  return isLoopbackName(host.replace(/:\d*$/, "").toLowerCase());
}

/** Loopback names and addresses (RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3). */
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function isLoopbackName(name: string): boolean {
  return LOOPBACK.test(name);
}

/** Whether it is an address as `Host` has it: IPv6 in brackets (RFC 3986 §3.2.2). */
function isAddress(name: string): boolean {
  return isIP(name) === 4 || (name.startsWith("[") && isIP(name.slice(1, -1)) === 6);
}

/** A name that does not resolve counts as not loopback: listening at it fails anyway, with an error that says so. */
async function isLoopback(host: string): Promise<boolean> {
  const literal = isIP(host) === 6 ? `[${host}]` : host;
  if (isLoopbackName(literal) || isIP(host) !== 0) return isLoopbackName(literal);
  const { address } = await lookup(host).catch(() => ({ address: "" }));
  return isLoopbackName(address.includes(":") ? `[${address}]` : address);
}
