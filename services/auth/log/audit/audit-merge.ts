/** Reads the trails of all namespaces together, in the order of revisions. */
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import { type PlacedRecord, trailIn } from "./audit-records.js";
import type { AuditTrail, Deletion } from "./audit-trail.js";

/** About how many records are read at once. */
const MAX_RECORDS = 1_024;

/** The trails that are to be read. */
export interface Unread {
  /** By name; undefined for all. */
  readonly trails: ReadonlySet<string> | undefined;
}

/** Some revisions, whole. */
export interface Merged {
  readonly records: readonly AuditRecord[];
  /** No record up to this revision is missing. */
  readonly revision: number;
  /** What was deleted before it could be read, by trail. Only where all trails were read. */
  readonly deletions: ReadonlyMap<string, Deletion>;
}

/** Remembers which trails have records that were not read. */
export class MergedTrails {
  readonly #trail: AuditTrail;
  #names = new Set<string>();
  #isAll = true;

  constructor(trail: AuditTrail) {
    this.#trail = trail;
  }

  add(records: readonly PlacedRecord[]): void {
    for (const { key } of records) this.#names.add(trailIn(key));
  }

  addAll(): void {
    this.#isAll = true;
  }

  /** The trails to read. They count as read, until they are given back. */
  take(): Unread {
    const taken = { trails: this.#isAll ? undefined : this.#names };
    this.#names = new Set();
    this.#isAll = false;
    return taken;
  }

  giveBack({ trails }: Unread): void {
    if (trails === undefined) this.#isAll = true;
    else for (const name of trails) this.#names.add(name);
  }

  /**
   * The records after a revision, up to `head` at most, in the order of revisions, and in the same
   * order each time.
   * @param head a revision that is in the store. Trails are read one after the other: a record
   *   after it may be found in one trail, and be written to another one later.
   * @throws {StoreError}
   */
  async read({ trails }: Unread, after: number, head: number): Promise<Merged> {
    const names = [...(trails ?? (await this.#all()))].sort();
    // A revision with more records than a page needs a larger one.
    for (let limit = Math.max(Math.floor(MAX_RECORDS / names.length), 1); ; limit *= 4) {
      const { records, revision } = await this.#page(names, { after, head, limit });
      if (revision <= after && head > after) continue;
      // Read after the records, so that no deletion is overlooked.
      const isComplete = trails !== undefined || after === 0;
      return { records, revision, deletions: isComplete ? new Map() : await this.#deletedAfter(after) };
    }
  }

  async #deletedAfter(after: number): Promise<Map<string, Deletion>> {
    const deletions = new Map<string, Deletion>();
    for await (const name of this.#trail.deletedFrom()) {
      const deletion = await this.#trail.deletedAfter(name, String(after));
      if (deletion !== undefined) deletions.set(name, deletion);
    }
    return deletions;
  }

  async #page(names: readonly string[], { after, head, limit }: Record<"after" | "head" | "limit", number>) {
    const found: AuditRecord[] = [];
    let revision = head;
    for (const name of names) {
      const page = await this.#trail.after(name, String(after), limit);
      if (page.length === limit) revision = Math.min(revision, Number(page.at(-1)!.revision) - 1);
      found.push(...page);
    }
    const records = found.filter((record) => Number(record.revision) <= revision);
    return { records: records.sort((a, b) => Number(a.revision - b.revision)), revision };
  }

  async #all(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.#trail.trails()) names.push(name);
    return names;
  }
}
