/**
 * The addresses of DNS names, looked up again and again. A lookup does not tell for how long its answer holds (getaddrinfo has
 * no TTL), so it is made anew every 30 s, and every 5 s while an address cannot be reached.
 */
import { lookup as lookupName } from "node:dns/promises";
import { isIP } from "node:net";

export type Lookup = (host: string) => Promise<readonly string[]>;

/** All addresses of a name, as this machine resolves it. */
export const lookupAll: Lookup = async (host) =>
  (await lookupName(host, { all: true, order: "verbatim" })).map(({ address }) => address);

/** The host of `host:port` or `grpcs://host:port`, where it is a name that may have several addresses. */
export function nameIn(address: string): string | undefined {
  const host = /^(?:grpcs:\/\/)?([^:[\]/]+):\d+$/.exec(address)?.[1];
  // The addresses of localhost are one machine's.
  return host === undefined || isIP(host) !== 0 || /^(.*\.)?localhost$/i.test(host) ? undefined : host;
}

export class FollowedNames {
  readonly #lookup: Lookup;
  readonly #onChange: (host: string) => void;
  readonly #known = new Map<string, readonly string[]>();
  readonly #asked = new Set<string>();

  /** @param onChange is told of a name whose addresses are others than before */
  constructor(lookup: Lookup, onChange: (host: string) => void) {
    this.#lookup = lookup;
    this.#onChange = onChange;
  }

  /** In the order of their text; empty until the first lookup has succeeded. */
  addressesOf(host: string): readonly string[] {
    return this.#known.get(host) ?? [];
  }

  /** A name that does not resolve keeps the addresses it had. */
  async look(host: string): Promise<void> {
    if (this.#asked.has(host)) return;
    this.#asked.add(host);
    try {
      const found = [...new Set(await this.#lookup(host))].sort();
      if (found.length === 0 || `${found}` === `${this.#known.get(host) ?? []}`) return;
      this.#known.set(host, found);
      this.#onChange(host);
    } catch {
    } finally {
      this.#asked.delete(host);
    }
  }

  /** Forgets names that nobody has any more. */
  keep(hosts: ReadonlySet<string>): void {
    for (const host of this.#known.keys()) if (!hosts.has(host)) this.#known.delete(host);
  }
}
