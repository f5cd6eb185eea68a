/**
 * The log of changes in the store: every other state of the authority is computed from it. An entry's key is its
 * revision, and it is written only where that key is absent, so of two authorities only one can write a revision. Each
 * text carries a checksum over its key and content: a damaged entry is noticed, never skipped.
 *
 * Snapshots bound the replay. The two newest are kept, and the entries from the older one on; what lies before is
 * dropped, oldest first. So an authority that fell behind would find the key after its own revision absent, although
 * that revision was taken long ago. It cannot mistake that for the end of the log: the entry of its own revision must be
 * there too, with the text that it knows, read and written at the same moment (`previous` of Collection.create). Where that
 * text is another, the store has another history: it was restored from a backup, or a standby that lacked changes took over.
 */
import { crc32 } from "node:zlib";
import type { Logger } from "pino";
import { Entry, Snapshot } from "../../../src/gen/portico/auth/log/v1/log.js";
import { type Collection, REMEDY, type Store, StoreError } from "../../../src/store/store.js";
import { timestampMs } from "../../../src/time.js";

/** How many entries are read at a time. */
export const MAX_READ = 256;
const BATCH = 256;
const REVISION_DIGITS = 16;

/** An entry, and the text that stands for it in the store. */
export interface ReadEntry {
  readonly entry: Entry;
  readonly text: string;
}

/** What follows a revision in the log. */
export interface Page {
  /** The text of the revision's own entry; undefined before the first one. */
  readonly text: string | undefined;
  /** At most `MAX_READ`: fewer mean that the log ends there. */
  readonly entries: readonly ReadEntry[];
}

/** The log does not hold what was read from it before. Only a person can decide what shall hold. */
export class LostHistoryError extends StoreError {}

/** The entries and the snapshots of a store. */
export class ChangeLog {
  readonly #name: string;
  readonly #entries: Collection;
  readonly #snapshots: Collection;
  readonly #log: Logger;

  /** @param log for what is wrong with snapshots */
  constructor({ store, log }: { store: Store; log: Logger }) {
    this.#name = store.name;
    this.#entries = store.collection("log");
    this.#snapshots = store.collection("snapshots");
    this.#log = log;
  }

  /**
   * Where to begin: the newest snapshot that is not damaged, or undefined for the first entry. `head` is the newest revision
   * seen, 0 for a store that was never set up.
   * @throws {StoreError} when something is missing or damaged.
   */
  async begin(): Promise<{ snapshot: Snapshot | undefined; head: number }> {
    // Entries are dropped only after the snapshots that stand for them are written, so they must be read first.
    const entries = await this.#entries.keys();
    const snapshots = await this.#snapshots.keys();
    const head = Math.max(0, Number(entries.at(-1) ?? 0), Number(snapshots.at(-1) ?? 0));
    for (const key of snapshots.toReversed()) {
      const text = await this.#snapshots.get(key);
      if (text === undefined) return this.begin(); // Another authority has just replaced it by a newer one.
      try {
        return { snapshot: Snapshot.decode(unseal(key, text)), head };
      } catch (error) {
        this.#log.error({ err: error, revision: Number(key) }, "a snapshot is damaged; trying the one before it");
      }
    }
    if (head > 0 && entries[0] !== keyOf(1)) {
      throw new StoreError(`store ${this.#name} has lost the beginning of its log, or its snapshots; ${REMEDY}`);
    }
    return { snapshot: undefined, head };
  }

  /**
   * The next entries after a revision. Undefined when they are dropped: begin anew.
   * @param known the text of the revision's own entry, where it was read before
   * @throws {LostHistoryError} when that entry has another text.
   * @throws {StoreError} naming the revision of an entry that is missing or damaged.
   */
  async read(after: number, known?: string): Promise<Page | undefined> {
    // From the entry of the revision itself on: only while it is there, the next one is not dropped.
    const first = Math.max(after, 1);
    const texts = await this.#entries.after(keyOf(first - 1), MAX_READ + (after === 0 ? 0 : 1));
    const dropped = texts[0]?.[0] !== keyOf(first);
    if (dropped && (after > 0 || (await this.#snapshots.after("", 1)).length > 0)) return undefined;
    const own = after === 0 ? undefined : texts[0]?.[1];
    if (known !== undefined && own !== known) throw this.lost(after);
    const entries = texts.slice(after === 0 ? 0 : 1).map(([key, text], index) => {
      const revision = after + 1 + index;
      if (key !== keyOf(revision)) throw this.fault(revision, "is missing");
      try {
        return { entry: readEntry(key, text), text };
      } catch (error) {
        throw this.fault(revision, (error as Error).message);
      }
    });
    return { text: own, entries };
  }

  /** When an entry was made, in milliseconds since 1970; undefined where it is not there, or does not say. */
  async timeOf(revision: number): Promise<number | undefined> {
    const key = keyOf(revision);
    const text = await this.#entries.get(key);
    if (text === undefined) return undefined;
    const { time } = readEntry(key, text);
    return time && timestampMs(time);
  }

  fault(revision: number, what: string): StoreError {
    return new StoreError(`store ${this.#name} cannot be used: entry ${revision} of its log ${what}; ${REMEDY}`);
  }

  /** What is wrong where the store has another entry of a revision than was read before, or none. */
  lost(revision: number): LostHistoryError {
    return new LostHistoryError(
      `store ${this.#name} has lost changes: it does not hold revision ${revision} as this authority knows it. It was ` +
        "restored from a backup, or a standby that lacked changes took over. This authority grants and changes nothing. " +
        "Restart it to go on with what the store has; changes that are missing must be made again",
    );
  }

  /**
   * Writes the entry if no other has its revision, after the entry before it. Once this resolves to its text, it is on
   * disk; undefined where it was not written.
   * @param before the text of the entry before it; undefined for the first one
   */
  async append(revision: number, entry: Entry, before: string | undefined): Promise<string | undefined> {
    const key = keyOf(revision);
    const text = seal(key, Entry.encode(entry).finish());
    if (before !== undefined) {
      return (await this.#entries.create(key, text, [keyOf(revision - 1), before])) ? text : undefined;
    }
    if (!(await this.#entries.create(key, text))) return undefined;
    // The first entry has none before it. Should it have been dropped before we came, there are snapshots.
    if ((await this.#snapshots.keys()).length === 0) return text;
    await this.#entries.delete([key]);
    return undefined;
  }

  /** Writes the snapshot, and drops the snapshots and entries before the one that came before it. */
  async keep(snapshot: Snapshot): Promise<void> {
    const key = keyOf(Number(snapshot.revision));
    await this.#snapshots.create(key, seal(key, Snapshot.encode(snapshot).finish()));
    const snapshots = await this.#snapshots.keys();
    const oldest = snapshots.at(-2);
    if (oldest === undefined) return;
    await this.#snapshots.delete(snapshots.slice(0, -2));
    const unneeded = (await this.#entries.keys()).filter((entry) => entry < oldest);
    for (let start = 0; start < unneeded.length; start += BATCH) {
      await this.#entries.delete(unneeded.slice(start, start + BATCH));
    }
  }
}

/** Zero-padded, so that keys sort as revisions do. */
function keyOf(revision: number): string {
  return String(revision).padStart(REVISION_DIGITS, "0");
}

function checksum(key: string, content: string): string {
  return crc32(`${key}:${content}`).toString(16).padStart(8, "0");
}

/** The checksum with which the text of an entry begins, in hexadecimal. */
export function checksumOf(text: string): string {
  return text.slice(0, 8);
}

function seal(key: string, bytes: Uint8Array): string {
  const content = Buffer.from(bytes).toString("base64");
  return `${checksum(key, content)} ${content}`;
}

function unseal(key: string, text: string): Buffer {
  const content = text.slice(9);
  if (text !== `${checksum(key, content)} ${content}`) throw new Error("is damaged");
  return Buffer.from(content, "base64");
}

function readEntry(key: string, text: string): Entry {
  const entry = Entry.decode(unseal(key, text));
  // To pass over a change, a revocation perhaps, would be to grant what it took away.
  if (entry.events.some(({ event }) => event === undefined)) throw new Error("was written by a newer Portico");
  return entry;
}
