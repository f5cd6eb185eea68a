/** One authority's own way to a store that several share, which a test cuts, holds up, or lets answer from the past. */
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
  /** No hint arrives. */
  isDeaf = false;
  /**
   * Awaited before each operation and after it, such as `before commit log`. Where it never resolves, the authority is as if
   * killed there.
   */
  onStep: (step: string) => Promise<void> | void = () => undefined;
  readonly #store: KeyValueStore;
  /** What reads give, while they come from a server that was replaced. */
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
      if (this.#past !== undefined) throw new StoreError(`store ${this.name} did not answer`);
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

  readonly size: KeyValueStore["size"] = () => this.#store.size();
  readonly owner: KeyValueStore["owner"] = () => this.#store.owner();
  readonly claim: KeyValueStore["claim"] = (...args) => this.#store.claim(...args);
  readonly sweep: KeyValueStore["sweep"] = () => this.#store.sweep();

  async close(): Promise<void> {}

  /** From now on reads give what there is now, and no write resolves: as at a server that another one has replaced. */
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

  /** It is connected to the server in charge again. */
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

/** What a key is of: its collection, or a claim, or a report of an authority. */
function subjectOf(key: string): string {
  if (key.startsWith("grantors/applied/")) return "reports";
  return key.startsWith("grantors/") ? "claims" : key.slice(0, key.indexOf("/"));
}
