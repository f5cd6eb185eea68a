/**
 * Resolves host names again at intervals. The result of a lookup has no TTL (getaddrinfo does not
 * return one). So every name is resolved every 30 s, and every 5 s while one of its addresses
 * cannot be reached.
 */
import { lookup as lookupName } from "node:dns/promises";
import { isIP } from "node:net";

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
  readonly #onChange: (host: string) => void;
  readonly #known = new Map<string, readonly string[]>();
  /** Names that are being looked up. */
  readonly #pending = new Set<string>();

  /** @param onChange called with a name whose addresses have changed */
  constructor(lookup: Lookup, onChange: (host: string) => void) {
    this.#lookup = lookup;
    this.#onChange = onChange;
  }

  /** The addresses of a name, sorted as text; empty until a lookup has succeeded. */
  addressesOf(host: string): readonly string[] {
    return this.#known.get(host) ?? [];
  }

  /** Looks up a name. If that fails, the name keeps its previous addresses. */
  async resolve(host: string): Promise<void> {
    if (this.#pending.has(host)) return;
    this.#pending.add(host);
    try {
      const found = [...new Set(await this.#lookup(host))].sort();
      if (found.length === 0 || `${found}` === `${this.#known.get(host) ?? []}`) return;
      this.#known.set(host, found);
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
