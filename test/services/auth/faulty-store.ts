/** One authority's connection to a shared store. A test can cut it, delay it, or make it stale. */
import { type KeyValueStore, type StoredWrite, StoreError } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";

/** All entries of a store. */
const ALL = { from: "", to: "~", limit: 1e6 } as const;

export class FaultyStore implements KeyValueStore {
  readonly name: string;
  readonly id: string;
  readonly mayBeStale: boolean;
  /** Every operation fails at once. */
  isCut = false;
  /** No notifications arrive. */
  isDeaf = false;
  /**
   * Awaited before each operation and after it, with a step such as `before commit log`. If it
   * never resolves, the authority is as if killed at this step.
   */
  onStep: (step: string) => Promise<void> | void = () => undefined;
  readonly #store: KeyValueStore;
  /** The old data that reads return, as from a server that was replaced. */
  #past: KeyValueStore | undefined;

  constructor(store: KeyValueStore) {
    this.#store = store;
    this.name = store.name;
    this.id = store.id;
    this.mayBeStale = store.mayBeStale;
  }

  readonly get: KeyValueStore["get"] = (keys) => this.#read("get", keys[0], (store) => store.get(keys));
  readonly range: KeyValueStore["range"] = (range) => this.#read("range", range.from, (store) => store.range(range));
  readonly count: KeyValueStore["count"] = (from, to) => this.#read("count", from, (store) => store.count(from, to));
  readonly keys: KeyValueStore["keys"] = (from, to) => this.#read("keys", from, (store) => store.keys(from, to));

  readonly commit: KeyValueStore["commit"] = (writes, options) =>
    this.#step("commit", writes[0]?.key, () => {
      if (this.#past !== undefined) throw new StoreError(`store ${this.name} did not respond`);
      return this.#store.commit(writes, options);
    });

  follow(collection: string, listener: () => void): () => void {
    return this.#store.follow(collection, () => {
      if (!this.isDeaf && !this.isCut) listener();
    });
  }

  async time(): Promise<number | undefined> {
    if (this.isCut) throw new StoreError(`store ${this.name} cannot be reached`);
    return this.#store.time();
  }

  readonly isInPlace: KeyValueStore["isInPlace"] = () => this.#store.isInPlace();
  readonly size: KeyValueStore["size"] = () => this.#store.size();
  readonly owner: KeyValueStore["owner"] = () => this.#store.owner();
  readonly claim: KeyValueStore["claim"] = (...args) => this.#store.claim(...args);
  readonly sweep: KeyValueStore["sweep"] = () => this.#store.sweep();

  async close(): Promise<void> {}

  /** From now on, reads return the data of this moment and writes fail, as at a replaced server. */
  async demote(): Promise<void> {
    const past = openMemoryStore();
    for (let range: Parameters<KeyValueStore["range"]>[0] = ALL; ; ) {
      const { entries, more } = await this.#store.range(range);
      await past.commit(entries.map(({ key, value, expires }): StoredWrite => ({ kind: "set", key, value, expires })));
      if (!more) break;
      range = { ...range, from: entries.at(-1)!.key, afterFrom: true };
    }
    this.#past = past;
  }

  /** Connects to the current server again. */
  reconnect(): void {
    this.#past = undefined;
    this.isCut = false;
  }

  #read<T>(operation: string, key: string | undefined, act: (store: KeyValueStore) => Promise<T>): Promise<T> {
    return this.#step(operation, key, () => act(this.#past ?? this.#store));
  }

  async #step<T>(operation: string, key: string | undefined, act: () => Promise<T>): Promise<T> {
    const what = subjectOf(key ?? "");
    await this.onStep(`before ${operation} ${what}`);
    if (this.isCut) throw new StoreError(`store ${this.name} cannot be reached`);
    const result = await act();
    await this.onStep(`after ${operation} ${what}`);
    return result;
  }
}

/** The subject of a key: its collection, or a lease record or report of an authority. */
function subjectOf(key: string): string {
  if (key.startsWith("grantors/applied/")) return "reports";
  return key.startsWith("grantors/") ? "claims" : key.slice(0, key.indexOf("/"));
}
