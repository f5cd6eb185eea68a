/** Decides a commit by the current entries of its keys. All engines of the store use this. */

import { randomUUID } from "node:crypto";
import { Code, StatusError } from "../errors.js";
import { appendChange } from "./change-log.js";
import { bytesOf, type CommitResult, type Condition, type StoredEntry, type StoredWrite } from "./store.js";

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

/**
 * The entries, and in addition a count for each `usage` of the commits that asks for one, or whose
 * key is absent.
 * @param count returns the bytes of all keys and values of a range, as the commits find them
 */
export async function withUsage(
  current: CurrentEntries,
  commits: readonly (readonly StoredWrite[])[],
  count: (from: string, to: string) => Promise<number>,
): Promise<CurrentEntries> {
  const counted = new Map<string, StoredEntry>();
  for (const write of commits.flat()) {
    if (write.kind !== "usage" || counted.has(write.key)) continue;
    const { key, from, to, recount } = write;
    if (current.get(key) === undefined || recount)
      counted.set(key, { key, value: `${await count(from, to)}`, version: "", expires: undefined });
  }
  return counted.size === 0 ? current : new Map([...current, ...counted]);
}

/** The keys whose entries decide the commits, without duplicates. */
export function keysOf(commits: readonly (readonly StoredWrite[])[]): string[] {
  const keys = new Set<string>();
  for (const writes of commits) {
    for (const { key, log } of writes) {
      keys.add(key);
      if (log !== undefined) keys.add(log);
    }
  }
  return [...keys];
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
  const changes: { before: string | undefined; after: string | undefined; revision?: number }[] = [];
  const storedOf = (key: string) => (changed.has(key) ? changed.get(key) : current.get(key));
  const entryOf = (key: string) => present(storedOf(key), now);
  let grown = 0;
  const countsBytes = writes.some(({ kind }) => kind === "usage");
  for (const [index, write] of writes.entries()) {
    const { key, condition, log } = write;
    const before = entryOf(key);
    const after = holds(condition, before) ? afterWrite(write, before, grown) : FAILED;
    if (after === FAILED) return { result: { committed: false, failed: index }, changed: NOTHING };
    const change = { before: before?.value, after: after?.value };
    changes.push(change);
    if (after === before) continue;
    // An expired entry is counted as long as it is stored.
    if (countsBytes) grown += bytesOf(after) - bytesOf(storedOf(key));
    changed.set(key, after);
    const logged = log === undefined ? undefined : entryOf(log);
    if (logged === undefined) continue;
    const appended = appendChange(logged, { key, value: after?.value }, now);
    for (const [key, entry] of appended.changed) changed.set(key, entry);
    Object.assign(change, { revision: appended.revision });
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

/** @param grown the bytes that the writes before this one have added */
function afterWrite(
  write: StoredWrite,
  before: StoredEntry | undefined,
  grown: number,
): StoredEntry | undefined | typeof FAILED {
  if (write.kind === "check") return before;
  if (write.kind === "delete") return undefined;
  const { key } = write;
  if (write.kind === "set") return { key, value: write.value, version: randomUUID(), expires: write.expires };
  if (write.kind === "usage") {
    const usage = Math.max(0, numberOf(before) + grown);
    if (grown > 0 && usage > write.max) return FAILED;
    return { key, value: `${usage}`, version: randomUUID(), expires: undefined };
  }
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
