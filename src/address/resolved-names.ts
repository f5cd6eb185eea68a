/**
 * Resolves host names again at intervals. The result of a lookup has no TTL (getaddrinfo does not
 * return one). So every name is resolved every 30 s, and every 5 s while one of its addresses
 * cannot be reached.
 */
import { lookup as lookupName } from "node:dns/promises";
import { isIP } from "node:net";
import type { Logger } from "pino";

/**
 * Maximum addresses or servers of a name: as many as a service may have instances. Each of them
 * gets a connection.
 */
export const MAX_ADDRESSES = 1_000;

export type Lookup = (host: string) => Promise<readonly string[]>;

/** All addresses of a name, as the operating system resolves it. */
export const lookupAll: Lookup = async (host) =>
  (await lookupName(host, { all: true, order: "verbatim" })).map(({ address }) => address);

/**
 * The host of `host:port` or `grpcs://host:port`, if it is a name that may have several addresses.
 */
export function hostNameOf(address: string): string | undefined {
  const host = /^(?:grpcs:\/\/)?([^:[\]/]+):\d+$/.exec(address)?.[1];
  // All addresses of localhost belong to this computer.
  return host === undefined || isIP(host) !== 0 || /^(.*\.)?localhost$/i.test(host) ? undefined : host;
}

export class ResolvedNames {
  readonly #lookup: Lookup;
  readonly #log: Pick<Logger, "warn">;
  readonly #onChange: (host: string) => void;
  readonly #known = new Map<string, readonly string[]>();
  /** Names that are being looked up. */
  readonly #pending = new Set<string>();

  /** @param onChange called with a name whose addresses have changed */
  constructor(lookup: Lookup, log: Pick<Logger, "warn">, onChange: (host: string) => void) {
    this.#lookup = lookup;
    this.#log = log;
    this.#onChange = onChange;
  }

  /**
   * The addresses of a name, sorted as text, the first MAX_ADDRESSES; empty until a lookup has
   * succeeded.
   */
  addressesOf(host: string): readonly string[] {
    return this.#known.get(host) ?? [];
  }

  /** Looks up a name. If that fails, the name keeps its previous addresses. */
  async resolve(host: string): Promise<void> {
    if (this.#pending.has(host)) return;
    this.#pending.add(host);
    try {
      const all = [...new Set(await this.#lookup(host))].sort();
      // Sorted, so that all processes leave out the same ones.
      const found = all.slice(0, MAX_ADDRESSES);
      if (found.length === 0 || `${found}` === `${this.#known.get(host) ?? []}`) return;
      this.#known.set(host, found);
      if (all.length > found.length) {
        const message = `the name has ${all.length} addresses; only the first ${MAX_ADDRESSES} are used`;
        this.#log.warn({ name: host }, message);
      }
      this.#onChange(host);
    } catch {
    } finally {
      this.#pending.delete(host);
    }
  }

  /** Forgets all names but these. */
  keep(hosts: ReadonlySet<string>): void {
    for (const host of this.#known.keys()) if (!hosts.has(host)) this.#known.delete(host);
  }
}
