/** A store in memory, gone when it is closed. It passes the same contract as the engines that keep what they are given. */
import { COLLECTIONS, type Collection, type Store } from "../../src/store/store.js";

export function openMemoryStore(): Store {
  const maps = COLLECTIONS.map((name) => [name, new Map<string, string>()] as const);
  const collections = new Map(maps.map(([name, map]) => [name, collectionOf(map)]));
  return {
    name: "in memory",
    collection: (name) => collections.get(name)!,
    close: async () => {
      for (const [, map] of maps) map.clear();
    },
  };
}

function collectionOf(map: Map<string, string>): Collection {
  const sorted = (): string[] => [...map.keys()].sort();
  return {
    get: async (key) => map.get(key),
    getMany: async (keys) => keys.map((key) => map.get(key)),
    after: async (key, limit) =>
      sorted()
        .filter((other) => other > key)
        .slice(0, limit)
        .map((key) => [key, map.get(key)!]),
    create: async (key, value, previous) => {
      if (map.has(key) || (previous !== undefined && !map.has(previous))) return false;
      map.set(key, value);
      return true;
    },
    delete: async (keys) => {
      for (const key of keys) map.delete(key);
    },
    keys: async () => sorted(),
  };
}
