/** A store in memory, gone when it is closed. It passes the same contract as the engines that keep what they are given. */
import { COLLECTIONS, type Collection, type CollectionName, type Store, StoreError } from "../../src/store/store.js";

interface MemoryStoreOptions {
  /** Whether several authorities at once may use it, as on a server. */
  readonly mayBeStale?: boolean;
  /** What the server's clock says; without it, the store has none. */
  readonly time?: () => number;
}

export function openMemoryStore({ mayBeStale = false, time }: MemoryStoreOptions = {}): Store {
  const listeners = new Map(COLLECTIONS.map((name) => [name, new Set<() => void>()]));
  const hint = (name: CollectionName): void => {
    for (const listener of listeners.get(name)!) setImmediate(listener);
  };
  const maps = COLLECTIONS.map((name) => [name, new Map<string, string>()] as const);
  const collections = new Map(maps.map(([name, map]) => [name, collectionOf(map, () => hint(name))]));
  return {
    name: "in memory",
    mayBeStale,
    collection: (name) => collections.get(name)!,
    follow: (name, listener) => {
      listeners.get(name)!.add(listener);
      return () => listeners.get(name)!.delete(listener);
    },
    time: async () => time?.(),
    close: async () => {
      for (const [, map] of maps) map.clear();
    },
  };
}

function collectionOf(map: Map<string, string>, changed: () => void): Collection {
  const sorted = (): string[] => [...map.keys()].sort();
  const set = (key: string, value: string): boolean => {
    map.set(key, value);
    changed();
    return true;
  };
  return {
    get: async (key) => map.get(key),
    getMany: async (keys) => keys.map((key) => map.get(key)),
    after: async (key, limit) =>
      sorted()
        .filter((other) => other > key)
        .slice(0, limit)
        .map((key) => [key, map.get(key)!]),
    create: async (key, value) => !map.has(key) && set(key, value),
    createAfter: async ([key, value], entries) => {
      if (map.get(key) !== value || map.has(entries[0]![0])) return false;
      if (entries.some(([other]) => map.has(other))) throw new StoreError("a key is taken");
      for (const entry of entries) set(...entry);
      return true;
    },
    replace: async (key, value) => map.has(key) && set(key, value),
    delete: async (keys) => {
      for (const key of keys) map.delete(key);
    },
    deleteIf: async (key, value) => map.get(key) === value && map.delete(key),
    keys: async () => sorted(),
  };
}
