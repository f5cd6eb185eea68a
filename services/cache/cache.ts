/** Stores texts by key for a limited time, and adds to numbers. */
import { CacheService } from "../../src/gen/cache/cache.js";
import {
  type Call,
  failedPrecondition,
  invalidArgument,
  type Precondition,
  part,
  toTimestamp,
  type Write,
} from "../../src/kit/index.js";
import { checkBytes, checkDuration, checkNumber, checkPrintable, PAGE } from "../patterns/checks.js";
import { StorageLimit } from "../patterns/storage-limit.js";

const DAY = 86_400_000;
const KEY = { min: 1, max: 256 };
const VALUE = { min: 0, max: 65_536 };
const LIFETIME = { min: 1000, max: 30 * DAY, absent: 30 * DAY };
/**
 * A whole number as `String` writes it. Such a value is stored as a number, so that the store can
 * add to it.
 */
const WHOLE_NUMBER = /^(0|-?[1-9]\d{0,15})$/;

/** The largest number that is exact in JSON, which is how the store writes it. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);

const storageLimit = new StorageLimit(100_000, "entries in the cache of the namespace");

/** The service `cache`. */
export const parts = [
  part(CacheService, {
    async get({ key }, call) {
      checkKey("key", key);
      const entry = await entriesOf(call).getEntry(key);
      return { value: entry && `${entry.value}`, expires: entry && toTimestamp(entry.expires!) };
    },

    async set({ key, value, lifetime }, call) {
      checkKey("key", key);
      checkBytes("value", value, VALUE);
      const ttlMs = checkDuration("lifetime", lifetime, LIFETIME);
      const condition = await enterStorageLimit(call);
      const expires = toTimestamp(Date.now() + ttlMs);
      const write = { set: key, value: storedValue(value), ttlMs, ...condition };
      if (!(await entriesOf(call).commit([write])).committed) throw storageLimit.full();
      return { expires };
    },

    async delete({ key }, call) {
      checkKey("key", key);
      const deleted = await entriesOf(call).delete(key);
      if (deleted) storageLimit.leave(call.namespace, "");
      return { deleted };
    },

    async increment({ key, by, lifetime }, call) {
      const ttlMs = checkDuration("lifetime", lifetime, LIFETIME);
      return { value: await add(call, { key, by: by ?? 1n, ttlMs }) };
    },

    async decrement({ key, by, lifetime }, call) {
      const ttlMs = checkDuration("lifetime", lifetime, LIFETIME);
      return { value: await add(call, { key, by: -(by ?? 1n), ttlMs }) };
    },

    async listKeys({ prefix, after, limit }, call) {
      if (prefix !== "") checkKey("prefix", prefix);
      if (after !== "") checkKey("after", after);
      const { entries, next } = await entriesOf(call).range({
        limit: checkNumber("limit", limit, PAGE),
        prefix,
        after: after || undefined,
      });
      return { keys: entries.map(({ key }) => key), next: next ?? "" };
    },
  }),
];

function entriesOf(call: Call) {
  return call.store<string | number>("entries");
}

function checkKey(field: string, key: string): void {
  checkBytes(field, key, KEY);
  checkPrintable(field, key);
}

function enterStorageLimit(call: Call): Promise<Precondition> {
  return storageLimit.enter(call.namespace, entriesOf(call), "");
}

function storedValue(value: string): string | number {
  return WHOLE_NUMBER.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/**
 * Adds to the number of a key. The store does it atomically, so concurrent calls lose no change.
 * @param ttlMs for an absent key
 */
async function add(call: Call, { key, by, ttlMs }: { key: string; by: bigint; ttlMs: number }): Promise<bigint> {
  checkKey("key", key);
  if (by < -MAX_NUMBER || by > MAX_NUMBER)
    throw invalidArgument(`by: must be from -${MAX_NUMBER} to ${MAX_NUMBER}, got ${by}`);
  const condition = await enterStorageLimit(call);
  const isFull = condition.ifPresent === true;
  const check: Write[] = isFull ? [{ check: key, ...condition }] : [];
  const result = await entriesOf(call).commit([...check, { increment: key, by: Number(by), ttlMs }]);
  if (result.committed) return BigInt(result.values.at(-1) as number);
  if (isFull && result.failed === 0) throw storageLimit.full();
  throw failedPrecondition(`The value of ${key} would be beyond ${MAX_NUMBER}`);
}
