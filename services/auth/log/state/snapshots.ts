/**
 * The snapshots in the store. A snapshot has parts, each in a row of limited size:
 *
 *     <revision>/<id>/000000     written first: an attempt to write the snapshot has begun
 *     <revision>/<id>/<number>   a part, from 1 on
 *     <revision>                 written last: the snapshot is complete; its attempt and parts
 *     writing                    the ID of the current attempt
 *
 * The last row names the format of the parts. A change that adds to the content of snapshots must
 * increase the format, because a version that does not know the addition would drop it silently.
 *
 * A snapshot without the row `<revision>` does not exist. So a crash at any moment leaves the older
 * snapshots unchanged.
 *
 * Of the authorities on a store, only the one that creates the row `writing` writes a snapshot. An
 * authority that sees no progress of the attempt for a minute replaces it. The row saves work;
 * safety does not depend on it: if the first authority continues, each of the two writes parts
 * under an ID of its own. The rows of an old attempt are deleted in an order that keeps its writer
 * from continuing, wherever it was stopped. First, the row `<revision>` is created, so that the
 * attempt cannot become complete. Then the attempt's rows are deleted; a part is written only while
 * the attempt's first row exists.
 */

import { randomUUID } from "node:crypto";
import { Snapshot } from "../../../../src/gen/portico/auth/log/v1/log.js";
import { type Collection, type KeyValue, writesTo } from "../../../../src/store/collection.js";

import { checksum, keyOf, seal, unseal } from "../changelog/row.js";

/**
 * The newest format that this version reads. A snapshot is written in the oldest format that keeps
 * all of its content (`formatOf`), so that earlier versions can read it. Rows without a format have
 * format 1.
 */
const FORMAT = 3;
const WRITING = "writing";
const BEGUN = "begun";
const ABANDONED = "abandoned";
const PART_DIGITS = 6;
/**
 * How long an attempt may make no progress before another authority replaces it, in milliseconds.
 */
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
  /** The last known progress of another authority's attempt, and when it was first seen. */
  #other = { progress: "", since: 0 };

  /** @param now in milliseconds by the monotonic clock */
  constructor(rows: Collection, now: () => number = () => performance.now()) {
    this.#rows = rows;
    this.#now = now;
  }

  /** The revisions of all complete snapshots, ascending. */
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
   * Writes a snapshot, unless another authority is writing one. Returns its length in the store, or
   * 0 if it was not written. All of it is on disk when this resolves.
   * @param parts the next part is read when the one before it is on disk
   * @param format of the parts
   * @throws the signal's reason, when it is aborted before the last part
   */
  async write(
    revision: number,
    parts: Iterable<Buffer>,
    { signal, format = 1 }: { signal?: AbortSignal | undefined; format?: number } = {},
  ): Promise<number> {
    const id = randomUUID();
    if (!(await this.#begin(id))) return 0;
    try {
      await this.#deleteLeftovers();
      const length = await this.#writeParts(revision, id, parts, { signal, format });
      if (length > 0) await this.#deleteOld();
      return length;
    } finally {
      await this.#rows.deleteIf(WRITING, id);
    }
  }

  /** Creates the row `writing`, or takes it over from an attempt that makes no progress. */
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
    { signal, format }: { signal: AbortSignal | undefined; format: number },
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
    const complete = [keyOf(revision), completeText({ revision, id, count, format })] as const;
    return (await this.#createBeside(first, complete)) ? length : 0;
  }

  /** Creates a row only if the attempt's first row exists. */
  #createBeside(first: KeyValue, row: KeyValue): Promise<boolean> {
    const { expect, create } = writesTo("snapshots");
    return this.#rows.commit([expect(first), create(row)]);
  }

  /**
   * Deletes all snapshots except the two newest. The older one is needed if the newest is damaged.
   */
  async #deleteOld(): Promise<void> {
    const old = (await this.revisions()).slice(0, -2).map(keyOf);
    const keys = await this.#rows.keys();
    await this.#rows.delete(old); // First, so that no snapshot exists in part.
    for (const key of old) await this.#rows.delete(keys.filter((other) => other.startsWith(`${key}/`)));
  }

  /**
   * Deletes the rows of unfinished attempts. Runs before this authority, the only writer, begins.
   */
  async #deleteLeftovers(): Promise<void> {
    const keys = await this.#rows.keys();
    const attempts = new Map(keys.flatMap((key) => (attemptOf(key) === undefined ? [] : [[attemptOf(key), key]])));
    for (const [id, key] of attempts) {
      const revision = key!.slice(0, key!.indexOf("/"));
      await this.#rows.create(revision, ABANDONED);
      if (idIn(revision, (await this.#rows.get(revision)) ?? "") === id) continue;
      // Twice: the writer of the attempt may add rows until its first row is deleted.
      for (let round = 0; round < 2; round++) {
        await this.#rows.delete((await this.#rows.keys()).filter((other) => attemptOf(other) === id));
      }
    }
    const complete = (await this.#rows.keys()).filter(isRevision);
    const texts = await this.#rows.getMany(complete);
    await this.#rows.delete(complete.filter((_, index) => texts[index] === ABANDONED));
  }
}

/**
 * The ID of the attempt that completed a snapshot; undefined if the row has none, or is damaged.
 */
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

/** The ID of the attempt that a part belongs to; undefined if the key is not of a part. */
function attemptOf(key: string): string | undefined {
  return key.split("/")[1];
}

function partKeyOf(revision: number, id: string, number: number): string {
  return `${keyOf(revision)}/${id}/${String(number).padStart(PART_DIGITS, "0")}`;
}

/** The text of the row that completes a snapshot. */
function completeText({
  revision,
  id,
  count,
  format,
}: Record<"revision" | "count" | "format", number> & { id: string }) {
  const content = `${format > 1 ? `format ${format} ` : ""}parts ${id} ${count}`;
  return `${content} ${checksum(keyOf(revision), content)}`;
}

/**
 * Reads the row of a complete snapshot, in any format.
 * @throws {Error} when it is damaged
 */
function readComplete(key: string, text: string): { format: number; id: string; count: number } {
  const [, content = "", format = "1", id = "", count, sum] =
    /^((?:format (\d+) )?parts (\S+) (\d+)) (\S+)$/.exec(text) ?? [];
  if (sum !== checksum(key, content)) throw new Error("is damaged");
  return { format: Number(format), id, count: Number(count) };
}
