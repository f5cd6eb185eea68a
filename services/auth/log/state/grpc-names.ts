/**
 * Which service each full name of a gRPC service belongs to: the first that registered with it, until it is released. Names
 * are compared without regard to case, so that no service has a name that only looks like another's.
 */
import type { GrpcNamesClaimed, Snapshot } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";

/** Most names of a service. */
export const MAX_GRPC_NAMES = 1_000;

/** What of it goes into a snapshot. */
export interface FrozenGrpcNames {
  readonly revision: number;
  readonly services: readonly GrpcNamesClaimed[];
}

/** The names as of one revision. */
export class GrpcNames {
  /** The revision that last changed them; 0 where none did. */
  revision = 0;
  /** By name in lower case. */
  readonly #owners: MapEntries<string, string>;
  /** By service, as it declared them. Each list is replaced, never changed. */
  readonly #names: MapEntries<string, readonly string[]>;

  /** @param base of which this is a draft: it can be changed, while the base stays as it is */
  constructor(base?: GrpcNames) {
    this.revision = base?.revision ?? 0;
    this.#owners = base === undefined ? new Map() : new DraftMap(base.#owners);
    this.#names = base === undefined ? new Map() : new DraftMap(base.#names);
  }

  ownerOf(name: string): string | undefined {
    return this.#owners.get(name.toLowerCase());
  }

  /** The names of a service. */
  of(service: string): readonly string[] {
    return this.#names.get(service) ?? [];
  }

  /** The services that own names. */
  get services(): Iterable<[service: string, names: readonly string[]]> {
    return this.#names;
  }

  /** Those of the names that a service may have: nobody's yet, and no more than a service may own. */
  claimable(service: string, names: readonly string[]): string[] {
    const free = names.filter((name) => this.ownerOf(name) === undefined);
    return free.slice(0, Math.max(0, MAX_GRPC_NAMES - this.of(service).length));
  }

  /** Gives a service those of the names that are nobody's. @returns which these are */
  claim(service: string, names: readonly string[], revision: number): string[] {
    const claimed = names.filter((name) => {
      if (this.ownerOf(name) !== undefined) return false;
      this.#owners.set(name.toLowerCase(), service);
      return true;
    });
    if (claimed.length === 0) return [];
    this.#names.set(service, [...this.of(service), ...claimed]);
    this.revision = revision;
    return claimed;
  }

  /** Takes names from a service; all where `names` is empty. @returns those that were its own */
  release(service: string, names: readonly string[], revision: number): string[] {
    const wanted = new Set(names.map((name) => name.toLowerCase()));
    const before = this.of(service);
    const released = wanted.size === 0 ? [...before] : before.filter((name) => wanted.has(name.toLowerCase()));
    if (released.length === 0) return [];
    for (const name of released) this.#owners.delete(name.toLowerCase());
    const left = before.filter((name) => !released.includes(name));
    if (left.length > 0) this.#names.set(service, left);
    else this.#names.delete(service);
    this.revision = revision;
    return released;
  }

  /** Adds a part of a snapshot. */
  merge({ grpcNames, grpcNamesRevision }: Pick<Snapshot, "grpcNames" | "grpcNamesRevision">): void {
    const revision = Number(grpcNamesRevision) || this.revision;
    for (const { service, names } of grpcNames) this.claim(service, names, revision);
    this.revision = revision;
  }

  freeze(): FrozenGrpcNames {
    const services = [...this.#names].map(([service, names]) => ({ service, names: [...names] }));
    return { revision: this.revision, services };
  }
}
