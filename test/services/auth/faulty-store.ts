/** One authority's own way to a store that several share, which a test cuts, holds up, or lets answer from the past. */
import {
  COLLECTIONS,
  type Collection,
  type CollectionName,
  type Entry,
  type Store,
  StoreError,
} from "../../../src/store/store.js";

type Operation = keyof Collection;

export class FaultyStore implements Store {
  readonly name: string;
  readonly mayBeStale: boolean;
  /** Every operation fails at once. */
  isCut = false;
  /** No hint arrives. */
  isDeaf = false;
  /** Awaited before each operation and after it. Where it never resolves, the authority is as if killed there. */
  onStep: (step: string) => Promise<void> | void = () => undefined;
  readonly #store: Store;
  readonly #collections: ReadonlyMap<CollectionName, Collection>;
  /** What reads give, while they come from a server that was replaced. */
  #past: ReadonlyMap<CollectionName, readonly Entry[]> | undefined;

  constructor(store: Store) {
    this.#store = store;
    this.name = store.name;
    this.mayBeStale = store.mayBeStale;
    this.#collections = new Map(COLLECTIONS.map((name) => [name, this.#wrap(name, store.collection(name))]));
  }

  collection(name: CollectionName): Collection {
    return this.#collections.get(name)!;
  }

  follow(name: CollectionName, listener: () => void): () => void {
    return this.#store.follow(name, () => {
      if (!this.isDeaf && !this.isCut) listener();
    });
  }

  async time(): Promise<number | undefined> {
    if (this.isCut) throw new StoreError(`store ${this.name} cannot be reached`);
    return this.#store.time();
  }

  async close(): Promise<void> {}

  /** From now on reads give what there is now, and no write resolves: as at a server that another one has replaced. */
  async demote(): Promise<void> {
    const read = async (name: CollectionName) => [name, await this.#store.collection(name).after("", 1e6)] as const;
    this.#past = new Map(await Promise.all(COLLECTIONS.map(read)));
  }

  /** It is connected to the server in charge again. */
  reconnect(): void {
    this.#past = undefined;
    this.isCut = false;
  }

  #wrap(name: CollectionName, rows: Collection): Collection {
    const step =
      <Args extends unknown[], Result>(operation: Operation, act: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        const what = name === "grantors" ? (`${args[0]}`.startsWith("applied/") ? "reports" : "claims") : name;
        await this.onStep(`before ${operation} ${what}`);
        if (this.isCut) throw new StoreError(`store ${this.name} cannot be reached`);
        const result = await act(...args);
        await this.onStep(`after ${operation} ${what}`);
        return result;
      };
    const write = <Args extends unknown[], Result>(operation: Operation, act: (...args: Args) => Promise<Result>) =>
      step(operation, async (...args: Args) => {
        if (this.#past !== undefined) throw new StoreError(`store ${this.name} did not answer`);
        return act(...args);
      });
    const past = () => this.#past?.get(name);
    const find = (key: string) => past()?.find(([other]) => other === key)?.[1];
    return {
      get: step("get", async (key) => (past() ? find(key) : rows.get(key))),
      getMany: step("getMany", async (keys) => (past() ? keys.map(find) : rows.getMany(keys))),
      after: step("after", async (key, limit) => {
        const all = past();
        return all ? all.filter(([other]) => other > key).slice(0, limit) : rows.after(key, limit);
      }),
      before: step("before", async (key, limit) => {
        const all = past();
        const earlier = all?.filter(([other]) => other < key).reverse();
        return earlier ? earlier.slice(0, limit) : rows.before(key, limit);
      }),
      size: rows.size,
      keys: step("keys", async () => past()?.map(([key]) => key) ?? rows.keys()),
      create: write("create", rows.create),
      // A change is one step, however it is written.
      commit: write("create", rows.commit),
      replace: write("replace", rows.replace),
      delete: write("delete", rows.delete),
      deleteIf: write("deleteIf", rows.deleteIf),
    };
  }
}
