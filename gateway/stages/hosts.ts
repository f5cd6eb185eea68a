/**
 * Which host names a port answers to. In DNS rebinding the owner of a name lets it point at this machine once a page was
 * loaded from there: the browser takes the page and this port for one origin, and only `Host` still tells the name. So a
 * port that is bound to loopback, and asks nobody where they come from, answers to loopback names and configured ones.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Address } from "../../src/address.js";
import type { Config } from "../../src/config.js";
import { HttpError } from "../errors.js";
import type { RequestHeaders } from "../request-headers.js";

export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #any: boolean;
  /** The last `Host` that was accepted: a client sends the same one again and again. */
  #accepted: string | undefined;

  private constructor(names: readonly string[], any: boolean) {
    this.#names = new Set(names);
    this.#any = any;
  }

  /**
   * Those of a port that is to listen at `address`. Where that is no loopback address and no name is configured, any.
   * @param names lower case, without ports; `*` means any
   */
  static async of({ host }: Address, names: Config["httpHosts"]): Promise<Hosts> {
    if (names === "*") return new Hosts([], true);
    return new Hosts(names, names.length === 0 && !(await isLoopback(host)));
  }

  /**
   * Refuses a request for another host. One without Host is of HTTP/1.0, which no browser speaks.
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

/** Names and addresses that mean this machine on every machine (RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3). */
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function isLoopbackName(name: string): boolean {
  return LOOPBACK.test(name);
}

/** A name that cannot be looked up cannot be listened at either, and that says so itself. */
async function isLoopback(host: string): Promise<boolean> {
  const literal = isIP(host) === 6 ? `[${host}]` : host;
  if (isLoopbackName(literal) || isIP(host) !== 0) return isLoopbackName(literal);
  const { address } = await lookup(host).catch(() => ({ address: "" }));
  return isLoopbackName(address.includes(":") ? `[${address}]` : address);
}
