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
  const collections = new Map(maps.map(([name]) => [name, collectionOf(new Map(maps), name, () => hint(name))]));
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

function collectionOf(
  maps: ReadonlyMap<CollectionName, Map<string, string>>,
  name: CollectionName,
  changed: () => void,
): Collection {
  const map = maps.get(name)!;
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
    before: async (key, limit) =>
      sorted()
        .filter((other) => other < key)
        .reverse()
        .slice(0, limit)
        .map((key) => [key, map.get(key)!]),
    create: async (key, value) => !map.has(key) && set(key, value),
    commit: async ({ expect, create, beside }) => {
      if ((expect && map.get(expect[0]) !== expect[1]) || map.has(create[0]![0])) return false;
      if (create.some(([other]) => map.has(other))) throw new StoreError("a key is taken");
      for (const entry of create) set(...entry);
      if (beside === undefined) return true;
      const other = maps.get(beside.collection)!;
      for (const [key, value] of beside.set) other.set(key, value);
      for (const key of beside.delete) other.delete(key);
      return true;
    },
    replace: async (key, value) => map.has(key) && set(key, value),
    delete: async (keys) => {
      for (const key of keys) map.delete(key);
    },
    deleteIf: async (key, value) => map.get(key) === value && map.delete(key),
    keys: async () => sorted(),
    size: async () => [...map].reduce((size, [key, value]) => size + key.length + value.length, 0),
  };
}
