/**
 * A store in memory. Its entries are lost when it is closed; in all else it keeps the contract of
 * the durable engines.
 */
import { randomUUID } from "node:crypto";
import { decideCommits, keysOf } from "../../src/store/commit-writes.js";
import {
  bytesOf,
  type KeyRange,
  type KeyValueStore,
  MAX_TOTAL_BYTES,
  type StoredEntry,
} from "../../src/store/store.js";

interface MemoryStoreOptions {
  /** Whether several authorities may use it at the same time, like a database server. */
  readonly mayBeStale?: boolean;
  /** Returns the time of the server's clock. Without it, the store has no clock. */
  readonly time?: () => number;
}

export function openMemoryStore({ mayBeStale = false, time }: MemoryStoreOptions = {}): KeyValueStore {
  const entries = new Map<string, StoredEntry>();
  /** All keys, sorted. */
  const sorted: string[] = [];
  let isLess = isLessOfAscii;
  const listeners = new Set<{ readonly topic: string; readonly listener: () => void }>();
  let owner: string | undefined;
  const isPresent = (entry: StoredEntry | undefined): entry is StoredEntry =>
    entry !== undefined && (entry.expires ?? Number.POSITIVE_INFINITY) > Date.now();
  const between = (from: string, to: string): StoredEntry[] =>
    sorted
      .slice(placeOf(sorted, from, isLess), placeOf(sorted, to, isLess))
      .map((key) => entries.get(key))
      .filter(isPresent);
  const set = (key: string, entry: StoredEntry | undefined): void => {
    if (NOT_ASCII.test(key)) isLess = isLessOfAny;
    const place = placeOf(sorted, key, isLess);
    if (entry === undefined) {
      if (entries.delete(key)) sorted.splice(place, 1);
      return;
    }
    if (!entries.has(key)) sorted.splice(place, 0, key);
    entries.set(key, entry);
  };
  const tell = (keys: Iterable<string>): void => {
    const topics = new Set(Array.from(keys, (key) => [key, key.slice(0, key.indexOf("/"))]).flat());
    for (const { topic, listener } of listeners) if (topics.has(topic)) setImmediate(listener);
  };
  return {
    name: "in memory",
    id: randomUUID(),
    mayBeStale,
    get: async (keys) => keys.map((key) => entries.get(key)).map((entry) => (isPresent(entry) ? entry : undefined)),
    range: async (range) => pageOf(between(range.from, range.to), range),
    count: async (from, to) => between(from, to).length,
    keys: async (from, to) => between(from, to).map(({ key }) => key),
    async commit(writes) {
      const read = new Map(keysOf([writes]).map((key) => [key, entries.get(key)]));
      for (const write of writes) {
        if (write.kind !== "usage" || (read.get(write.key) !== undefined && !write.recount)) continue;
        const stored = sorted.filter((key) => key >= write.from && key < write.to).map((key) => entries.get(key));
        const value = `${stored.reduce((sum, entry) => sum + bytesOf(entry), 0)}`;
        read.set(write.key, { key: write.key, value, version: "", expires: undefined });
      }
      const { outcomes, changed } = decideCommits([writes], read, Date.now());
      for (const [key, entry] of changed) set(key, entry);
      tell(changed.keys());
      const [outcome] = outcomes;
      if ("error" in outcome!) throw outcome.error;
      return outcome!.result;
    },
    follow(topic, listener) {
      const follower = { topic, listener };
      listeners.add(follower);
      return () => listeners.delete(follower);
    },
    time: async () => time?.(),
    isInPlace: () => true,
    size: async () => [...entries.values()].reduce((size, { key, value }) => size + key.length + value.length, 0),
    owner: async () => owner,
    async claim(installation, { withEntries = false } = {}) {
      if (withEntries || entries.size === 0) owner ??= installation;
      return owner;
    },
    async sweep() {
      for (const [key, entry] of [...entries]) if (!isPresent(entry)) set(key, undefined);
    },
    close: async () => {
      entries.clear();
      sorted.length = 0;
    },
  };
}

function pageOf(sorted: StoredEntry[], { from, afterFrom, limit, reverse }: KeyRange) {
  const all = sorted.filter(({ key }) => !afterFrom || key !== from);
  if (reverse) all.reverse();
  let bytes = 0;
  const fits = (entry: StoredEntry, index: number): boolean => {
    bytes += Buffer.byteLength(entry.value);
    return index < limit && (index === 0 || bytes <= MAX_TOTAL_BYTES);
  };
  const end = all.findIndex((entry, index) => !fits(entry, index));
  return { entries: end === -1 ? all : all.slice(0, end), more: end !== -1 };
}

/** The index of the first key that is not less than this one. */
function placeOf(sorted: readonly string[], key: string, isLess: (a: string, b: string) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isLess(sorted[middle]!, key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isLessOfAscii(a: string, b: string): boolean {
  return a < b;
}

/** Compares the UTF-8 bytes. */
function isLessOfAny(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}

const NOT_ASCII = /[^\0-\x7f]/;
