/** Decides a commit by the current entries of its keys. All engines of the store use this. */

import { randomUUID } from "node:crypto";
import { Code, StatusError } from "../errors.js";
import type { CommitResult, Condition, StoredEntry, StoredWrite } from "./store.js";

/** Entries by key; undefined if the key is absent. */
export type CurrentEntries = ReadonlyMap<string, StoredEntry | undefined>;

/** The result of a commit, and the entries of its keys after it. */
interface Decided {
  readonly result: CommitResult;
  readonly changed: CurrentEntries;
}

const NOTHING: CurrentEntries = new Map();

/** What the caller of a commit gets: a result or an error. */
export type CommitOutcome = { readonly result: CommitResult } | { readonly error: unknown };

/**
 * Decides commits one after the other. Each commit sees the changes of the earlier ones.
 * @param current the entries of all their keys
 * @returns the outcome of each commit, and all entries that changed
 */
export function decideCommits(
  commits: readonly (readonly StoredWrite[])[],
  current: CurrentEntries,
  now: number,
): { readonly outcomes: readonly CommitOutcome[]; readonly changed: CurrentEntries } {
  const latest = new Map(current);
  const changed = new Map<string, StoredEntry | undefined>();
  const outcomes = commits.map((writes): CommitOutcome => {
    try {
      const decided = decideCommit(writes, latest, now);
      for (const [key, entry] of decided.changed) {
        latest.set(key, entry);
        changed.set(key, entry);
      }
      return { result: decided.result };
    } catch (error) {
      return { error };
    }
  });
  return { outcomes, changed };
}

/** The keys of the commits, without duplicates. */
export function keysOf(commits: readonly (readonly StoredWrite[])[]): string[] {
  return [...new Set(commits.flatMap((writes) => writes.map(({ key }) => key)))];
}

/** The changes in the store: entries to set, and keys to delete. */
export function splitChanges(changed: CurrentEntries): { set: StoredEntry[]; deleted: string[] } {
  return {
    set: [...changed.values()].filter((entry) => entry !== undefined),
    deleted: [...changed].flatMap(([key, entry]) => (entry === undefined ? [key] : [])),
  };
}

/**
 * Decides one commit.
 * @param current the entries of all its keys; expired entries count as absent
 * @param now in milliseconds since 1970, by the clock of the store
 * @throws {StatusError} FAILED_PRECONDITION if an increment meets a value that is not a whole
 *   number
 */
function decideCommit(writes: readonly StoredWrite[], current: CurrentEntries, now: number): Decided {
  const changed = new Map<string, StoredEntry | undefined>();
  const changes: { before: string | undefined; after: string | undefined }[] = [];
  for (const [index, write] of writes.entries()) {
    const { key, condition } = write;
    const before = present(changed.has(key) ? changed.get(key) : current.get(key), now);
    const after = holds(condition, before) ? afterWrite(write, before) : FAILED;
    if (after === FAILED) return { result: { committed: false, failed: index }, changed: NOTHING };
    if (after !== before) changed.set(key, after);
    changes.push({ before: before?.value, after: after?.value });
  }
  return { result: { committed: true, changes }, changed };
}

const FAILED = Symbol("the number would be out of its bounds, or the condition does not hold");

function present(entry: StoredEntry | undefined, now: number): StoredEntry | undefined {
  return entry?.expires !== undefined && entry.expires <= now ? undefined : entry;
}

function holds(condition: Condition | undefined, before: StoredEntry | undefined): boolean {
  if (condition === undefined) return true;
  if (condition === "absent") return before === undefined;
  if (condition === "present") return before !== undefined;
  return "version" in condition ? before?.version === condition.version : before?.value === condition.value;
}

function afterWrite(write: StoredWrite, before: StoredEntry | undefined): StoredEntry | undefined | typeof FAILED {
  if (write.kind === "check") return before;
  if (write.kind === "delete") return undefined;
  const { key } = write;
  if (write.kind === "set") return { key, value: write.value, version: randomUUID(), expires: write.expires };
  const sum = numberOf(before) + write.by;
  if (sum < write.min || sum > write.max || !Number.isSafeInteger(sum)) return FAILED;
  const expires = before === undefined ? write.expires : before.expires;
  return { key, value: `${sum}`, version: randomUUID(), expires };
}

function numberOf(entry: StoredEntry | undefined): number {
  const number = entry === undefined ? 0 : Number(entry.value);
  if (Number.isSafeInteger(number)) return number;
  throw new StatusError(Code.FAILED_PRECONDITION, "key: its value is not a whole number, so it cannot be incremented");
}
