/** The limits of calls in the state, by namespace and ID, and the authorities that lend them. */
import type { Lenders } from "../../../../src/gen/portico/auth/v1/policy.js";
import type { RevisedLimit } from "../../../../src/limits/limit-set.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";

type OfNamespace = MapEntries<string, RevisedLimit>;

export class LimitTable {
  /** Only namespaces that have limits. */
  readonly #namespaces: MapEntries<string, OfNamespace>;
  #size: number;
  lenders: Lenders;

  /** @param base makes this a draft of it; see State.draft */
  constructor(base?: LimitTable) {
    this.#namespaces =
      base === undefined ? new Map() : new DraftMap(base.#namespaces, (limits) => new DraftMap(limits));
    this.#size = base?.size ?? 0;
    this.lenders = base?.lenders ?? { ids: [], revision: 0n };
  }

  /** How many limits there are, in all namespaces together. */
  get size(): number {
    return this.#size;
  }

  get(namespace: string, id: string): RevisedLimit | undefined {
    return this.#namespaces.get(namespace)?.get(id);
  }

  /** The limits of a namespace, in no order. */
  of(namespace: string): RevisedLimit[] {
    return [...(this.#namespaces.get(namespace)?.values() ?? [])];
  }

  /** Adds a limit, or replaces the one with its ID. */
  set(namespace: string, revised: RevisedLimit): void {
    const limits = this.#namespaces.get(namespace) ?? new Map<string, RevisedLimit>();
    const before = limits.size;
    limits.set(revised.limit.id, revised);
    this.#size += limits.size - before;
    if (before === 0) this.#namespaces.set(namespace, limits);
  }

  /** @returns whether the limit existed */
  delete(namespace: string, id: string): boolean {
    const limits = this.#namespaces.get(namespace);
    if (limits?.delete(id) !== true) return false;
    this.#size--;
    if (limits.size === 0) this.#namespaces.delete(namespace);
    return true;
  }

  /** Deletes the limits of a deleted namespace. */
  deleteAll(namespace: string): void {
    this.#size -= this.#namespaces.get(namespace)?.size ?? 0;
    this.#namespaces.delete(namespace);
  }
}
