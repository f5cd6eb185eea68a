/**
 * The host names that a port serves, as a defence against DNS rebinding: the owner of a name has it resolve to this machine
 * after the browser has loaded a page from it; then the browser takes the page and this port for one origin, and only `Host`
 * still has the foreign name. So a port bound to loopback serves loopback names and configured names only.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Address } from "../../src/address.js";
import type { Config } from "../../src/config.js";
import { HttpError } from "../errors.js";
import type { RequestHeaders } from "../http.js";

export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #any: boolean;
  /** The last `Host` that was accepted, since clients repeat it. */
  #accepted: string | undefined;

  private constructor(names: readonly string[], any: boolean) {
    this.#names = new Set(names);
    this.#any = any;
  }

  /**
   * The host names of a port that listens at `address`: any name, where that is no loopback address and none is configured.
   * @param names configured ones, in lower case and without ports; `*` means any
   */
  static async of({ host }: Address, names: Config["httpHosts"]): Promise<Hosts> {
    if (names === "*") return new Hosts([], true);
    return new Hosts(names, names.length === 0 && !(await isLoopback(host)));
  }

  /**
   * Refuses a request for another host. A request without Host is HTTP/1.0, which no browser speaks.
   * @throws {HttpError} 421
   */
  check({ host }: RequestHeaders): void {
    if (this.#any || host === undefined || host === this.#accepted) return;
    const name = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1]?.toLowerCase();
    if (name === undefined || !(isLoopbackName(name) || this.#names.has(name))) {
      const shown = JSON.stringify(host.slice(0, MAX_SHOWN));
      throw new HttpError(421, `The host ${shown} is not served here; PORTICO_HTTP_HOSTS names hosts that are`);
    }
    this.#accepted = host;
  }
}

/** Most characters of a name that an error repeats. */
const MAX_SHOWN = 128;

/** Loopback names and addresses (RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3). */
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function isLoopbackName(name: string): boolean {
  return LOOPBACK.test(name);
}

/** A name that does not resolve counts as not loopback: listening at it fails anyway, with an error that says so. */
async function isLoopback(host: string): Promise<boolean> {
  const literal = isIP(host) === 6 ? `[${host}]` : host;
  if (isLoopbackName(literal) || isIP(host) !== 0) return isLoopbackName(literal);
  const { address } = await lookup(host).catch(() => ({ address: "" }));
  return isLoopbackName(address.includes(":") ? `[${address}]` : address);
}
