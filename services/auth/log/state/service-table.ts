/** The configured services in the state, by name. */
import type { ConfiguredService } from "../../../../src/gen/portico/registry/v1/services.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";

export class ServiceTable implements Iterable<[string, ConfiguredService]> {
  readonly #services: MapEntries<string, ConfiguredService>;
  /** The revision that last changed a service since the state was loaded; 0 if none did. */
  revision = 0;

  /** @param base makes this a draft of it; see State.draft */
  constructor(base?: ServiceTable) {
    this.#services = base === undefined ? new Map() : new DraftMap(base.#services);
    this.revision = base?.revision ?? 0;
  }

  [Symbol.iterator](): Iterator<[string, ConfiguredService]> {
    return this.#services[Symbol.iterator]();
  }

  get(name: string): ConfiguredService | undefined {
    return this.#services.get(name);
  }

  has(name: string): boolean {
    return this.#services.has(name);
  }

  put(service: ConfiguredService, revision: number): void {
    this.#services.set(service.name, service);
    this.revision = revision;
  }

  delete(name: string, revision: number): boolean {
    if (!this.#services.delete(name)) return false;
    this.revision = revision;
    return true;
  }

  /** Adds the services of a part of a snapshot. */
  merge(services: readonly ConfiguredService[]): void {
    for (const service of services) this.#services.set(service.name, service);
  }

  freeze(): readonly ConfiguredService[] {
    return [...this.#services.values()];
  }
}
