/**
 * A collection in the store that all services of a process share. Adds types, limits, and the
 * prefix that separates the collection from others.
 */

import { aborted, Code, invalidArgument, StatusError } from "../errors.js";
import {
  type CommitResult,
  type Condition,
  type KeyValueStore,
  MAX_TOTAL_BYTES,
  type StoredEntry,
  type StoredWrite,
  StoreError,
} from "../store/store.js";
import type { ChangeFeeds } from "./change-feeds.js";
import { namespaceSegment } from "./namespace-data.js";
import type { Quota } from "./quota.js";
import type {
  ChangeWatch,
  Committed,
  Entry,
  IncrementOptions,
  Lifetime,
  Precondition,
  Range,
  RangeOptions,
  Store,
  Write,
} from "./store.js";
import type { CallReads } from "./store-reads.js";
import { watchLog } from "./watch.js";

/** The maximum size of a key in UTF-8, in bytes. */
const MAX_KEY_BYTES = 512;
/** The maximum size of a value as JSON in UTF-8, in bytes. */
const MAX_VALUE_BYTES = 1024 ** 2;
const COLLECTION = /^[a-z0-9][a-z0-9-]{0,62}$/;
const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;
/** The maximum number of writes in one commit. */
const MAX_WRITES = 100;
/** The maximum number of keys in one `getMany`. */
const MAX_KEYS = 100;
/** The error for callers if the store fails. It contains no path and no address. */
const UNUSABLE = "what the service keeps cannot be read or written; try again";
const UNKNOWN =
  "it is not known whether the service has kept what this call changes; try again, with the same idempotency key where it has one";
/** How often `update` tries again after a concurrent write to the key. */
const MAX_ATTEMPTS = 1000;

/** Where a collection is stored. */
export interface CollectionOptions {
  /** Opens the store at its first use. */
  readonly open: () => Promise<KeyValueStore>;
  /** The reads of the call. */
  readonly reads: CallReads;
  /** The logs of changes that watches of the process read. */
  readonly feeds: ChangeFeeds;
  /** Of the call; ends its watches. */
  readonly signal: AbortSignal;
  readonly service: string;
  readonly namespace: string;
  /**
   * Distinguishes namespaces with the same name; empty or undefined for a namespace without an ID.
   */
  readonly namespaceId?: string | undefined;
  readonly collection: string;
  /** The maximum number of bytes of the service in the namespace; without it there is none. */
  readonly quota?: Quota | undefined;
  /** A check that every commit must pass: whether the run of a schedule may still write. */
  readonly fence?: StoredWrite | undefined;
  /** Called with the reason why an operation failed. Callers do not get this reason. */
  readonly onFailure: (error: StoreError) => void;
}

/** The entries of a collection, in a store that all services share. */
export class CollectionStore<T> implements Store<T> {
  readonly #options: CollectionOptions;
  readonly #prefix: string;
  readonly #reads: CallReads;

  constructor(options: CollectionOptions) {
    this.#options = options;
    this.#reads = options.reads;
    this.#prefix = this.#prefixOf(options.collection);
  }

  async get(key: string): Promise<T | undefined> {
    return (await this.getEntry(key))?.value;
  }

  async getEntry(key: string): Promise<Entry<T> | undefined> {
    const name = this.#prefix + checkKey(key);
    const [entry] = await this.#use((store) => store.get([name]));
    return entry && this.#reads.one(entry, this.#entryOf);
  }

  async getMany(keys: readonly string[]): Promise<(T | undefined)[]> {
    if (keys.length > MAX_KEYS) throw invalidArgument(`keys: must be at most ${MAX_KEYS}, got ${keys.length}`);
    const names = keys.map((key) => this.#prefix + checkKey(key));
    const read = async () => ({ entries: await this.#use((store) => store.get(names)) });
    const { entries } = await this.#reads.page(read, (entry) => entry && this.#entryOf(entry).value);
    return entries;
  }

  async set(key: string, value: T, { ttlMs }: Lifetime = {}): Promise<void> {
    await this.#commit([{ set: key, value, ttlMs }]);
  }

  async delete(key: string): Promise<boolean> {
    const result = await this.#commit([{ delete: key }]);
    return result.committed && result.changes[0]?.before !== undefined;
  }

  async createIfAbsent(key: string, value: T, { ttlMs }: Lifetime = {}): Promise<boolean> {
    return (await this.#commit([{ set: key, value, ttlMs, ifAbsent: true }])).committed;
  }

  async compareAndSet(key: string, version: string, value: T, { ttlMs }: Lifetime = {}): Promise<boolean> {
    return (await this.#commit([{ set: key, value, ttlMs, ifVersion: version }])).committed;
  }

  async increment(key: string, by = 1, options: IncrementOptions = {}): Promise<number | undefined> {
    const result = await this.commit([{ increment: key, by, ...options }]);
    return result.committed ? (result.values[0] as number) : undefined;
  }

  async update(
    key: string,
    change: (value: T | undefined) => T | undefined | Promise<T | undefined>,
    { ttlMs }: Lifetime = {},
  ): Promise<T | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const entry = await this.getEntry(key);
      const value = await change(entry?.value);
      const condition = entry === undefined ? "absent" : { version: entry.version };
      const place = { key: this.#prefix + key, condition, log: this.#logOf(this.#options.collection) } as const;
      const expires = ttlMs === undefined ? entry?.expires : expiryOf(ttlMs);
      const write: StoredWrite =
        value === undefined ? { ...place, kind: "delete" } : { ...place, kind: "set", value: textOf(value), expires };
      const { committed } = await this.#commitStored([write]);
      if (committed) return value;
    }
    throw aborted("too many others write the same entry; try again");
  }

  async range({ prefix = "", after, limit = DEFAULT_LIMIT, reverse = false }: RangeOptions = {}): Promise<Range<T>> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
      throw invalidArgument(`limit: must be from 1 to ${MAX_LIMIT}, got ${limit}`);
    }
    const first = this.#prefix + (prefix === "" ? "" : checkKey(prefix));
    const last = endOf(first);
    if (after !== undefined && !checkKey(after).startsWith(prefix))
      throw invalidArgument("after: must begin with the prefix");
    const mark = after === undefined ? undefined : this.#prefix + after;
    const from = reverse ? first : (mark ?? first);
    const to = reverse ? (mark ?? last) : last;
    const range = { from, afterFrom: !reverse && mark !== undefined, to, limit, reverse };
    const read = () => this.#use((store) => store.range(range));
    const { found, entries } = await this.#reads.page(read, this.#entryOf);
    return { entries, next: found.more ? entries.at(-1)?.key : undefined };
  }

  async count(prefix = ""): Promise<number> {
    const first = this.#prefix + (prefix === "" ? "" : checkKey(prefix));
    return this.#reads.count(() => this.#use((store) => store.count(first, endOf(first))));
  }

  async commit(writes: readonly Write[]): Promise<Committed> {
    const result = await this.#commit(writes);
    if (!result.committed) return result;
    return { committed: true, values: result.changes.map(({ after }) => after && JSON.parse(after)) };
  }

  async revision(): Promise<number> {
    const log = this.#logOf(this.#options.collection);
    const read = () => this.#use(async (store) => (await store.get([log]))[0]?.value);
    const revision = await read();
    if (revision !== undefined) return Number(revision);
    // A new log begins with the time, so that no revision of a log that was lost is one of its own.
    const write = { kind: "set", key: log, value: `${Date.now()}`, expires: undefined, condition: "absent" } as const;
    await this.#use((store) => store.commit([write]), UNUSABLE);
    return Number(await read());
  }

  watch(prefix = "", after?: number): ChangeWatch<T> {
    if (prefix !== "") checkKey(prefix);
    if (after !== undefined && !(Number.isSafeInteger(after) && after >= 0))
      throw invalidArgument(`after: must be a revision, got ${after}`);
    const { feeds, namespace, signal, collection } = this.#options;
    const start = after ?? this.revision();
    // The watch reports it.
    if (after === undefined) (start as Promise<number>).catch(() => undefined);
    const what = { log: this.#logOf(collection), namespace, signal };
    return watchLog<T>({
      listen: () => this.#use(async (store) => feeds.listen(store, what)),
      read: (listener, after) => this.#use(() => listener.read(after)),
      after: start,
      place: this.#prefix,
      prefix,
    });
  }

  #commit(writes: readonly Write[]): Promise<CommitResult> {
    if (writes.length > MAX_WRITES)
      throw invalidArgument(`writes: must be at most ${MAX_WRITES}, got ${writes.length}`);
    const stored = writes.map((write) => this.#storedWrite(write));
    const bytes = stored.reduce((sum, write) => sum + (write.kind === "set" ? Buffer.byteLength(write.value) : 0), 0);
    if (bytes > MAX_TOTAL_BYTES) throw invalidArgument("writes: their values have more than 4 MiB in all");
    return this.#commitStored(stored);
  }

  async #commitStored(writes: readonly StoredWrite[]): Promise<CommitResult> {
    const { fence, feeds, quota, service, namespace } = this.#options;
    for (let recount = false; ; recount = true) {
      const all = [...writes];
      if (fence !== undefined) all.push(fence);
      if (quota !== undefined) all.push(quota.usage(this.#place, recount));
      const result = await this.#use((store) => store.commit(all), UNKNOWN);
      if (result.committed) {
        for (const [index, { log }] of writes.entries()) {
          if (log !== undefined && result.changes[index]?.revision !== undefined) feeds.notify(log);
        }
        return { committed: true, changes: result.changes.slice(0, writes.length) };
      }
      if (result.failed < writes.length) return result;
      if (all[result.failed] === fence) throw aborted("another instance has taken over this run of the schedule");
      if (recount || !quota?.mayRecount(this.#place)) throw quota?.exceeded(service, namespace);
    }
  }

  #storedWrite(write: Write): StoredWrite {
    const { collection = this.#options.collection } = write;
    const prefix = this.#prefixOf(collection);
    const condition = conditionOf(write);
    const place = (key: string) => ({ key: prefix + checkKey(key), condition, log: this.#logOf(collection) });
    if ("set" in write) {
      return { ...place(write.set), kind: "set", value: textOf(write.value), expires: expiryOf(write.ttlMs) };
    }
    if ("increment" in write) {
      const { by, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = write;
      if (!Number.isSafeInteger(by)) throw invalidArgument(`by: must be a whole number, got ${by}`);
      return { ...place(write.increment), kind: "increment", by, min, max, expires: expiryOf(write.ttlMs) };
    }
    if ("delete" in write) return { ...place(write.delete), kind: "delete" };
    return { ...place(write.check), kind: "check" };
  }

  #prefixOf(collection: string): string {
    if (!COLLECTION.test(collection))
      throw new Error(`collection ${collection}: must be lower-case letters, digits and -`);
    return `${this.#place}/${collection}/`;
  }

  /** The key of the log of a collection's changes. No collection's name begins with `~`. */
  #logOf(collection: string): string {
    return `${this.#place}/~changes/${collection}`;
  }

  get #place(): string {
    const { service, namespace, namespaceId } = this.#options;
    return `${service}/${namespaceSegment(namespace, namespaceId)}`;
  }

  readonly #entryOf = ({ key, value, version, expires }: StoredEntry): Entry<T> => ({
    key: key.slice(this.#prefix.length),
    value: JSON.parse(value) as T,
    version,
    expires,
  });

  /**
   * @param failure the error text for the caller if the operation fails
   * @throws {StatusError} UNAVAILABLE if the store cannot be used
   */
  async #use<R>(operation: (store: KeyValueStore) => Promise<R>, failure = UNUSABLE): Promise<R> {
    const store = await this.#orUnavailable(this.#options.open(), UNUSABLE);
    return this.#orUnavailable(operation(store), failure);
  }

  async #orUnavailable<R>(operation: Promise<R>, failure: string): Promise<R> {
    try {
      return await operation;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#options.onFailure(error);
      throw new StatusError(Code.UNAVAILABLE, failure, { cause: error });
    }
  }
}

/** @throws {StatusError} INVALID_ARGUMENT */
function checkKey(key: string): string {
  const bytes = Buffer.byteLength(key);
  if (bytes < 1 || bytes > MAX_KEY_BYTES)
    throw invalidArgument(`key: must have 1 to ${MAX_KEY_BYTES} bytes, got ${bytes}`);
  if (key.includes("\0") || !key.isWellFormed()) throw invalidArgument("key: must be Unicode text without NUL");
  return key;
}

/** @throws {StatusError} INVALID_ARGUMENT */
function textOf(value: unknown): string {
  const text = jsonOf(value);
  if (text === undefined) throw new TypeError("the value to store is undefined");
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) throw invalidArgument("value: has more than 1 MiB as JSON");
  return text;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError && /BigInt/.test(error.message))) throw error;
    const message =
      "the value to store has a bigint, and JSON has none: store `String(number)`, and read `BigInt(text)`";
    throw new TypeError(message, { cause: error });
  }
}

function expiryOf(ttlMs: number | undefined): number | undefined {
  if (ttlMs === undefined) return undefined;
  if (!(ttlMs > 0)) throw invalidArgument(`ttl: must be more than 0, got ${ttlMs}`);
  return Math.min(Math.ceil(Date.now() + ttlMs), Number.MAX_SAFE_INTEGER);
}

function conditionOf({ ifAbsent, ifPresent, ifVersion }: Precondition): Condition | undefined {
  if (ifAbsent) return "absent";
  if (ifPresent) return "present";
  return ifVersion === undefined ? undefined : { version: ifVersion };
}

const MAX_CODE_POINT = 0x10ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

/** The smallest text, by its UTF-8 bytes, that is greater than all texts with the prefix. */
function endOf(prefix: string): string {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === MAX_CODE_POINT) points.pop();
  const last = points.pop() as number;
  return String.fromCodePoint(...points, last + 1 === SURROGATES.first ? SURROGATES.last + 1 : last + 1);
}
