/**
 * Many records of one kind, stored as bytes outside of the JavaScript heap. Records are found by
 * their names and removed when they expire, and can be copied into snapshots while others change
 * them. The number of a record never changes.
 */
import { Arena } from "./arena.js";
import { DueQueue, grown } from "./due-queue.js";
import { HashIndex, hashOf } from "./hash-index.js";

/** What a table needs to know about its records. */
export interface RecordType<T> {
  encode(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
  /** The byte strings by which it is found; each of them is part of the encoded record. */
  namesOf(value: T): Uint8Array[];
  /** When the record, or a part of it, expires, in milliseconds since 1970. */
  dueOf(value: T): number;
  /** Whether the table counts it in `marked`. */
  isMarked(value: T): boolean;
}

/** The bytes of a table's records at the time of the copy. */
export interface FrozenTable {
  /** @param record that was in the table at that time */
  read(record: number): Buffer;
  /** Allows the table to reuse the memory of records that were removed since. */
  release(): void;
}

/** Records by number, as the state uses them. */
export interface Records<T> {
  /** All record numbers are below it. */
  readonly length: number;
  /** How many records are marked. */
  readonly marked: number;
  isMarked(record: number): boolean;
  add(value: T): number;
  /** A copy of the record. */
  get(record: number): T;
  /**
   * The first record with the name that is accepted; undefined if none.
   * @param accept must also check the name
   * @param isCandidate whether the record with the number may be returned
   */
  find(
    name: Buffer,
    accept: (value: T) => boolean,
    isCandidate?: (record: number) => boolean,
  ): { record: number; value: T } | undefined;
  replace(record: number, value: T): void;
  /**
   * Removes the record; `tidy` frees its memory later, so that deleting a large namespace is fast.
   */
  remove(record: number): void;
  /** The record that expired first; undefined if none has. */
  expired(now: number): number | undefined;
  /** Frees the memory of at most `max` removed records. */
  tidy(max: number): void;
  /** The current content, to be read while the table changes. */
  freeze(): FrozenTable;
}

/** The states of a record, in `#presence`. */
const [ABSENT, PRESENT, MARKED] = [0, 1, 2];

export class RecordTable<T> implements Records<T> {
  readonly #type: RecordType<T>;
  readonly #arena = new Arena();
  readonly #index = new HashIndex();
  readonly #due = new DueQueue((a, b) => this.#read(a).compare(this.#read(b)));
  /** By record number: the block with its bytes, and its state. */
  #blocks = new Uint32Array(0);
  #presence = new Uint8Array(0);
  #marked = 0;
  #length = 0;
  readonly #vacant: number[] = [];
  /** Removed records, and blocks of replaced bytes, whose memory is not freed yet. */
  readonly #removed: number[] = [];
  readonly #replaced: number[] = [];
  #frozen = 0;

  constructor(type: RecordType<T>) {
    this.#type = type;
  }

  get length(): number {
    return this.#length;
  }

  get marked(): number {
    return this.#marked;
  }

  isMarked(record: number): boolean {
    return this.#presence[record] === MARKED;
  }

  add(value: T): number {
    const record = this.#vacant.pop() ?? this.#length++;
    this.#blocks = grown(this.#blocks, this.#length);
    this.#presence = grown(this.#presence, this.#length);
    this.#blocks[record] = this.#arena.add(this.#type.encode(value));
    this.#setPresence(record, this.#type.isMarked(value) ? MARKED : PRESENT);
    for (const name of this.#type.namesOf(value)) this.#index.add(hashOf(name), record);
    this.#due.add(record, this.#type.dueOf(value));
    return record;
  }

  get(record: number): T {
    return this.#type.decode(Buffer.from(this.#read(record)));
  }

  find(
    name: Buffer,
    accept: (value: T) => boolean,
    isCandidate: (record: number) => boolean = () => true,
  ): { record: number; value: T } | undefined {
    let value: T | undefined;
    const record = this.#index.find(hashOf(name), (candidate) => {
      if (this.#presence[candidate] === ABSENT || !isCandidate(candidate)) return false;
      if (!this.#read(candidate).includes(name)) return false;
      value = this.get(candidate);
      return accept(value);
    });
    return record === undefined || value === undefined ? undefined : { record, value };
  }

  replace(record: number, value: T): void {
    const [before, after] = [this.get(record), value].map((one) => this.#type.namesOf(one).map(hashOf));
    for (const hash of before!) if (!after!.includes(hash)) this.#index.remove(hash, record);
    for (const hash of after!) if (!before!.includes(hash)) this.#index.add(hash, record);
    this.#due.remove(record);
    this.#replaced.push(this.#blocks[record]!);
    this.#blocks[record] = this.#arena.add(this.#type.encode(value));
    this.#due.add(record, this.#type.dueOf(value));
    this.#setPresence(record, this.#type.isMarked(value) ? MARKED : PRESENT);
  }

  remove(record: number): void {
    this.#setPresence(record, ABSENT);
    this.#removed.push(record);
  }

  expired(now: number): number | undefined {
    let record = this.#due.next(now);
    while (record !== undefined && this.#presence[record] === ABSENT) {
      this.#due.remove(record);
      record = this.#due.next(now);
    }
    return record;
  }

  tidy(max: number): void {
    if (this.#frozen > 0) return;
    for (const block of this.#replaced.splice(-max)) this.#arena.remove(block);
    for (const record of this.#removed.splice(-max)) {
      for (const name of this.#type.namesOf(this.get(record))) this.#index.remove(hashOf(name), record);
      this.#due.remove(record);
      this.#arena.remove(this.#blocks[record]!);
      this.#vacant.push(record);
    }
  }

  freeze(): FrozenTable {
    const blocks = this.#blocks.slice(0, this.#length);
    this.#frozen++;
    return {
      read: (record) => this.#arena.read(blocks[record]!),
      release: () => {
        this.#frozen--;
      },
    };
  }

  #setPresence(record: number, presence: number): void {
    this.#marked += Number(presence === MARKED) - Number(this.isMarked(record));
    this.#presence[record] = presence;
  }

  #read(record: number): Buffer {
    return this.#arena.read(this.#blocks[record]!);
  }
}
