/**
 * The addresses of host names, resolved again and again. A lookup does not tell for how long its answer holds (getaddrinfo has
 * no TTL), so every name is resolved again every 30 s, and every 5 s while an address of it cannot be reached.
 */
import { lookup as lookupName } from "node:dns/promises";
import { isIP } from "node:net";

export type Lookup = (host: string) => Promise<readonly string[]>;

/** All addresses of a name, as this machine resolves it. */
export const lookupAll: Lookup = async (host) =>
  (await lookupName(host, { all: true, order: "verbatim" })).map(({ address }) => address);

/** The host of `host:port` or `grpcs://host:port`, where it is a name that may have several addresses. */
export function hostNameOf(address: string): string | undefined {
  const host = /^(?:grpcs:\/\/)?([^:[\]/]+):\d+$/.exec(address)?.[1];
  // All addresses of localhost are this machine's.
  return host === undefined || isIP(host) !== 0 || /^(.*\.)?localhost$/i.test(host) ? undefined : host;
}

export class ResolvedNames {
  readonly #lookup: Lookup;
  readonly #onChange: (host: string) => void;
  readonly #known = new Map<string, readonly string[]>();
  /** Names with a lookup under way. */
  readonly #pending = new Set<string>();

  /** @param onChange is called with a name whose addresses have changed */
  constructor(lookup: Lookup, onChange: (host: string) => void) {
    this.#lookup = lookup;
    this.#onChange = onChange;
  }

  /** The addresses of a name, sorted as text; empty until a lookup has succeeded. */
  addressesOf(host: string): readonly string[] {
    return this.#known.get(host) ?? [];
  }

  /** Looks a name up. A name that does not resolve keeps the addresses it had. */
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
