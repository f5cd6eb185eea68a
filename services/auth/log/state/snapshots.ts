/**
 * The snapshots in the store. One is in parts, each a row of bounded size:
 *
 *     <revision>/<id>/000000     written first: an attempt to write the snapshot has begun
 *     <revision>/<id>/<number>   a part, from 1 on
 *     <revision>                 written last: the snapshot is complete, and these are its parts
 *     writing                    whose attempt is under way
 *
 * The last row names the format of the parts. Whoever adds to what a snapshot holds raises it, because a version that does
 * not know an addition would drop it silently.
 *
 * A snapshot without the last row does not exist. So a crash at any moment leaves the older snapshots as they were.
 *
 * Authorities that share a store leave it to one of them: the one that creates the row `writing`. Whoever finds that an
 * attempt makes no progress for a minute takes its place. The row saves work, it protects nothing: should the first go on
 * all the same, each writes parts under an id of its own. Leftovers of an attempt are deleted in an order that its
 * writer, stopped at any point, cannot go on from: the row `<revision>` is taken first, so that the attempt cannot become
 * complete; then its rows go, and a part is only ever written beside the attempt's first row.
 */

import { randomUUID } from "node:crypto";
import { Snapshot } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { type Collection, type KeyValue, writesTo } from "../../../../src/store/collection.js";

import { checksum, keyOf, seal, unseal } from "../changelog/row.js";

/** The newest format that this version reads, and the one it writes. It is written only where it is not 1. */
const FORMAT = 1;
const WRITING = "writing";
const BEGUN = "begun";
const ABANDONED = "abandoned";
const PART_DIGITS = 6;
/** How long an attempt may make no progress before another authority takes its place, in milliseconds. */
export const MAX_IDLE = 60_000;

/** A snapshot that only a newer version can read. */
export class NewerSnapshotError extends Error {
  /** @param format of the snapshot */
  constructor(format: number) {
    super(`a snapshot has format ${format}, and this version of Portico knows formats up to ${FORMAT}`);
  }
}

/** The snapshots of a store. */
export class Snapshots {
  readonly #rows: Collection;
  readonly #now: () => number;
  /** The attempt of another authority, as it was found last, and when it was first found like that. */
  #other = { progress: "", since: 0 };

  /** @param now in milliseconds by the monotonic clock */
  constructor(rows: Collection, now: () => number = () => performance.now()) {
    this.#rows = rows;
    this.#now = now;
  }

  /** The revisions of all snapshots that are complete, ascending. */
  async revisions(): Promise<number[]> {
    const keys = (await this.#rows.keys()).filter(isRevision);
    const texts = await this.#rows.getMany(keys);
    return keys.filter((_, index) => texts[index] !== undefined && texts[index] !== ABANDONED).map(Number);
  }

  /**
   * The parts of a snapshot, in order, with the length of each in the store.
   * @throws {NewerSnapshotError} when only a newer version can read it.
   * @throws {Error} when it is damaged or incomplete
   */
  async *read(revision: number): AsyncGenerator<{ part: Snapshot; length: number }> {
    const key = keyOf(revision);
    const complete = readComplete(key, (await this.#rows.get(key)) ?? "");
    if (complete.format > FORMAT) throw new NewerSnapshotError(complete.format);
    for (let number = 1; number <= complete.count; number++) {
      const partKey = partKeyOf(revision, complete.id, number);
      const row = (await this.#rows.get(partKey)) ?? "";
      yield { part: Snapshot.decode(unseal(partKey, row)), length: row.length };
    }
  }

  /**
   * Writes a snapshot, unless another authority is writing one. Gives its length in the store, 0 where it was not
   * written. All of it is on disk when this resolves.
   * @param parts is asked for a part when the one before it is on disk
   * @throws the signal's reason, when it is aborted before the last part
   */
  async write(revision: number, parts: Iterable<Buffer>, signal?: AbortSignal): Promise<number> {
    const id = randomUUID();
    if (!(await this.#begin(id))) return 0;
    try {
      await this.#deleteLeftovers();
      const length = await this.#writeParts(revision, id, parts, signal);
      if (length > 0) await this.#deleteOld();
      return length;
    } finally {
      await this.#rows.deleteIf(WRITING, id);
    }
  }

  /** Gets the row `writing`, also in the place of an attempt that has come to a stop. */
  async #begin(id: string): Promise<boolean> {
    if (await this.#rows.create(WRITING, id)) return true;
    const other = await this.#rows.get(WRITING);
    const progress = `${other} ${(await this.#rows.keys()).filter((key) => attemptOf(key) === other).length}`;
    if (progress !== this.#other.progress) this.#other = { progress, since: this.#now() };
    if (this.#now() - this.#other.since < MAX_IDLE) return false;
    if (other !== undefined) await this.#rows.deleteIf(WRITING, other);
    return this.#rows.create(WRITING, id);
  }

  async #writeParts(
    revision: number,
    id: string,
    parts: Iterable<Buffer>,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const first = [partKeyOf(revision, id, 0), BEGUN] as const;
    if (!(await this.#rows.create(...first))) return 0;
    let count = 0;
    let length = 0;
    for (const part of parts) {
      if (count > 0) signal?.throwIfAborted();
      const key = partKeyOf(revision, id, count + 1);
      const text = seal(key, part);
      if (!(await this.#createBeside(first, [key, text]))) return 0;
      count++;
      length += text.length;
    }
    const complete = [keyOf(revision), completeText(revision, id, count)] as const;
    return (await this.#createBeside(first, complete)) ? length : 0;
  }

  /** Creates a row while the attempt's first row is there. */
  #createBeside(first: KeyValue, row: KeyValue): Promise<boolean> {
    const { expect, create } = writesTo("snapshots");
    return this.#rows.commit([expect(first), create(row)]);
  }

  /** Deletes all snapshots but the two newest: the older of the two is for the case that the newest is damaged. */
  async #deleteOld(): Promise<void> {
    const old = (await this.revisions()).slice(0, -2).map(keyOf);
    const keys = await this.#rows.keys();
    await this.#rows.delete(old); // First, so that no snapshot is there in part.
    for (const key of old) await this.#rows.delete(keys.filter((other) => other.startsWith(`${key}/`)));
  }

  /** Deletes what attempts left that did not end. Only one authority at a time writes, and it has yet to begin. */
  async #deleteLeftovers(): Promise<void> {
    const keys = await this.#rows.keys();
    const attempts = new Map(keys.flatMap((key) => (attemptOf(key) === undefined ? [] : [[attemptOf(key), key]])));
    for (const [id, key] of attempts) {
      const revision = key!.slice(0, key!.indexOf("/"));
      await this.#rows.create(revision, ABANDONED);
      if (idIn(revision, (await this.#rows.get(revision)) ?? "") === id) continue;
      // Twice: until its first row is gone, the attempt's writer may add more.
      for (let round = 0; round < 2; round++) {
        await this.#rows.delete((await this.#rows.keys()).filter((other) => attemptOf(other) === id));
      }
    }
    const complete = (await this.#rows.keys()).filter(isRevision);
    const texts = await this.#rows.getMany(complete);
    await this.#rows.delete(complete.filter((_, index) => texts[index] === ABANDONED));
  }
}

/** The attempt that made a snapshot complete; undefined where the row says none, or is damaged. */
function idIn(key: string, text: string): string | undefined {
  try {
    return readComplete(key, text).id;
  } catch {
    return undefined;
  }
}

function isRevision(key: string): boolean {
  return /^\d+$/.test(key);
}

/** The attempt that a part belongs to; undefined where the key is of no part. */
function attemptOf(key: string): string | undefined {
  return key.split("/")[1];
}

function partKeyOf(revision: number, id: string, number: number): string {
  return `${keyOf(revision)}/${id}/${String(number).padStart(PART_DIGITS, "0")}`;
}

/** The text of the row that makes a snapshot complete. */
function completeText(revision: number, id: string, count: number): string {
  const content = `parts ${id} ${count}`;
  return `${content} ${checksum(keyOf(revision), content)}`;
}

/**
 * What the row of a complete snapshot says, in any format.
 * @throws {Error} when it is damaged
 */
function readComplete(key: string, text: string): { format: number; id: string; count: number } {
  const [, content = "", format = "1", id = "", count, sum] =
    /^((?:format (\d+) )?parts (\S+) (\d+)) (\S+)$/.exec(text) ?? [];
  if (sum !== checksum(key, content)) throw new Error("is damaged");
  return { format: Number(format), id, count: Number(count) };
}
