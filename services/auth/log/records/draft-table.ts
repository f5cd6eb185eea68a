/** Records that are read and changed over a table of records, which stays as it is. */
import { asBuffer } from "../../../../src/wire/buffer.js";
import type { Records, RecordType } from "./record-table.js";

/** The records of a table, but for the changes that were made here. */
export class DraftTable<T> implements Records<T> {
  readonly #base: Records<T>;
  readonly #type: RecordType<T>;
  /** By number: the bytes of what was added or replaced, or undefined where the record was removed. */
  readonly #changed = new Map<number, Uint8Array | undefined>();
  /** Numbers of changed records by the names that they have, or had. */
  readonly #named = new Map<string, number[]>();
  #next: number;
  #marked: number;

  /** @param base must not change as long as the draft is used */
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

  /** None: what has expired stays in a draft. */
  expired(): undefined {}

  tidy(): void {}

  freeze(): never {
    throw new Error("a draft is not kept in a snapshot");
  }
}

function textOf(name: Uint8Array): string {
  return asBuffer(name).toString("latin1");
}
