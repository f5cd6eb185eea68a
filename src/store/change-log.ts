/**
 * The log of changes of one collection, as entries of the store: under the key of the log its last
 * revision, and under `<log>/<revision>` what the change of this revision has written. The entries
 * are in the same commit as the change, so the log has exactly the changes that were made.
 */
import { randomUUID } from "node:crypto";
import type { StoredEntry } from "./store.js";

/** The maximum number of changes that a log has, and how long it has them, in milliseconds. */
export const MAX_CHANGES = 10_000;
export const CHANGE_TTL_MS = 86_400_000;
/** The number of digits of a revision in a key, so that keys sort by revision. */
const DIGITS = 16;

/** A change of an entry. */
export interface StoredChange {
  readonly key: string;
  /** Undefined if the entry was deleted. */
  readonly value: string | undefined;
}

/** The key of a change. */
export function changeKey(log: string, revision: number): string {
  return `${log}/${`${Math.max(0, revision)}`.padStart(DIGITS, "0")}`;
}

/** The revision of a change, by the key of its entry in the log. */
export function revisionOf({ key }: StoredEntry): number {
  return Number(key.slice(-DIGITS));
}

/** The change in an entry of the log. */
export function readChange({ value: text }: StoredEntry): StoredChange {
  const end = text.indexOf("\n");
  if (end === -1) return { key: JSON.parse(text), value: undefined };
  return { key: JSON.parse(text.slice(0, end)), value: text.slice(end + 1) };
}

/**
 * The entries that append a change to a log, by their keys; undefined for one to delete.
 * @param log the entry with the last revision
 * @param now in milliseconds since 1970, by the clock of the store
 */
export function appendChange(
  log: StoredEntry,
  { key, value }: StoredChange,
  now: number,
): { readonly revision: number; readonly changed: ReadonlyMap<string, StoredEntry | undefined> } {
  const revision = Number(log.value) + 1;
  const entry = {
    key: changeKey(log.key, revision),
    // JSON has no line break in a text, so the first one ends the key.
    value: value === undefined ? JSON.stringify(key) : `${JSON.stringify(key)}\n${value}`,
    version: randomUUID(),
    expires: now + CHANGE_TTL_MS,
  };
  const changed = new Map<string, StoredEntry | undefined>([
    [log.key, { ...log, value: `${revision}`, version: randomUUID() }],
    [changeKey(log.key, revision - MAX_CHANGES), undefined],
    [entry.key, entry],
  ]);
  return { revision, changed };
}
