/**
 * The service that owns each full name of a gRPC service: the first that registered with it, until
 * the name is released. Names are compared case-insensitively, so that no two services have names
 * that differ only in case.
 */
import type { GrpcNamesClaimed, Snapshot } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";

/** Maximum number of names of a service. */
export const MAX_GRPC_NAMES = 1_000;

/** The part that goes into a snapshot. */
export interface FrozenGrpcNames {
  readonly revision: number;
  readonly services: readonly GrpcNamesClaimed[];
}

/** The names as of one revision. */
export class GrpcNames {
  /** The revision that last changed them; 0 if none did. */
  revision = 0;
  /** By name in lower case. */
  readonly #owners: MapEntries<string, string>;
  /** By service, with the case that it declared. Each list is replaced, never mutated. */
  readonly #names: MapEntries<string, readonly string[]>;

  /** @param base makes this a draft of it: this can be changed, and the base stays unchanged */
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

  /** The names without an owner that the service may claim, up to its maximum. */
  claimable(service: string, names: readonly string[]): string[] {
    const free = names.filter((name) => this.ownerOf(name) === undefined);
    return free.slice(0, Math.max(0, MAX_GRPC_NAMES - this.of(service).length));
  }

  /**
   * Gives a service those names that have no owner.
   * @returns the names that it got
   */
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

  /**
   * Takes names from a service; all of its names if `names` is empty.
   * @returns the names that were its own
   */
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
