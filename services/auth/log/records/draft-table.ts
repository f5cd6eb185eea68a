/** Records with changes on top of a table of records, which stays unchanged. */
import { asBuffer } from "../../../../src/wire/buffer.js";
import type { Records, RecordType } from "./record-table.js";

/** The records of a table with the changes made here. */
export class DraftTable<T> implements Records<T> {
  readonly #base: Records<T>;
  readonly #type: RecordType<T>;
  /** By number: the bytes of an added or replaced record, or undefined if it was removed. */
  readonly #changed = new Map<number, Uint8Array | undefined>();
  /** Numbers of changed records by their current and former names. */
  readonly #named = new Map<string, number[]>();
  #next: number;
  #marked: number;

  /** @param base must not change while the draft is used */
  constructor(base: Records<T>, type: RecordType<T>) {
    this.#base = base;
    this.#type = type;
    this.#next = base.length;
    this.#marked = base.marked;
  }

  get length(): number {
    return this.#next;
  }

  get marked(): number {
    return this.#marked;
  }

  isMarked(record: number): boolean {
    if (!this.#changed.has(record)) return this.#base.isMarked(record);
    const bytes = this.#changed.get(record);
    return bytes !== undefined && this.#type.isMarked(this.#type.decode(bytes));
  }

  add(value: T): number {
    const record = this.#next++;
    this.replace(record, value);
    return record;
  }

  get(record: number): T {
    const bytes = this.#changed.get(record);
    return bytes === undefined ? this.#base.get(record) : this.#type.decode(bytes);
  }

  find(
    name: Buffer,
    accept: (value: T) => boolean,
    isCandidate: (record: number) => boolean = () => true,
  ): { record: number; value: T } | undefined {
    for (const record of this.#named.get(textOf(name)) ?? []) {
      if (this.#changed.get(record) === undefined || !isCandidate(record)) continue;
      const value = this.get(record);
      if (accept(value)) return { record, value };
    }
    return this.#base.find(name, accept, (record) => isCandidate(record) && !this.#changed.has(record));
  }

  replace(record: number, value: T): void {
    this.#marked += Number(this.#type.isMarked(value)) - Number(this.isMarked(record));
    this.#changed.set(record, this.#type.encode(value));
    for (const name of this.#type.namesOf(value).map(textOf)) {
      this.#named.set(name, [...(this.#named.get(name) ?? []), record]);
    }
  }

  remove(record: number): void {
    this.#marked -= Number(this.isMarked(record));
    this.#changed.set(record, undefined);
  }

  /** Always undefined: a draft does not remove expired records. */
  expired(): undefined {}

  tidy(): void {}

  freeze(): never {
    throw new Error("a draft is not kept in a snapshot");
  }
}

function textOf(name: Uint8Array): string {
  return asBuffer(name).toString("latin1");
}
