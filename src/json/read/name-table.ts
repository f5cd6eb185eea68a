/**
 * A hash table with the bytes of names as keys. The names come from descriptors and are fixed, so
 * callers cannot add collisions.
 */
import { Buffer } from "node:buffer";

interface Entry<T> {
  readonly name: Uint8Array;
  readonly hash: number;
  readonly value: T;
}

export class NameTable<T> {
  readonly #slots: (Entry<T> | undefined)[];
  readonly #mask: number;

  /** If two entries have the same name, the first one counts. */
  constructor(names: readonly (readonly [name: string, value: T])[]) {
    const size = 1 << (33 - Math.clz32(names.length * 2));
    this.#slots = new Array(size).fill(undefined);
    this.#mask = size - 1;
    for (const [name, value] of names) {
      const bytes = Buffer.from(name, "utf8");
      if (this.find(bytes, 0, bytes.length) !== undefined) continue;
      const hash = hashOf(bytes, 0, bytes.length);
      let slot = hash & this.#mask;
      while (this.#slots[slot] !== undefined) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = { name: bytes, hash, value };
    }
  }

  /** The value for the name in `bytes` from `start` to `end`. */
  find(bytes: Uint8Array, start: number, end: number): T | undefined {
    const hash = hashOf(bytes, start, end);
    const length = end - start;
    let slot = hash & this.#mask;
    for (let entry = this.#slots[slot]; entry !== undefined; entry = this.#slots[slot]) {
      if (entry.hash === hash && entry.name.length === length && isAt(entry.name, bytes, start)) return entry.value;
      slot = (slot + 1) & this.#mask;
    }
    return undefined;
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
  return hash ^ (hash >>> 15);
}

function isAt(name: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name[at]) return false;
  return true;
}
