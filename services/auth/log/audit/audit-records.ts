/**
 * Records of the audit trail: the key of each record in the collection `audit`, and the share that
 * it belongs to. A record is written in the commit of its change. A share has a maximum number of
 * records, so callers with few permissions can overwrite only their own records:
 *
 *     changes by administrators and by the authority itself   no share: deleted only by age
 *     changes by another account                              one share for each account
 *     failed logins, for which a client needs no account      one share for all namespaces
 *
 * The rows, where <trail> is a namespace's name, with its ID if it has one:
 *     records/<trail>/<revision>/<number>   a record, in the order of the log
 *     slots/<share>/<number>                the key of the record that has this slot of the share
 *     deleted/<trail>/<revision>/<number>   the time of this record: the records of the trail up to
 *                                           it were deleted, being too old. The last row counts
 *
 * A share has a fixed number of slots. A record that takes a slot replaces the record that had it.
 * The number of records that a share has ever had gives the next slot. That number is part of the
 * state, so no search is needed.
 */
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import type { MapEntries } from "../changelog/draft-map.js";
import { keyOf } from "../changelog/row.js";

/** Maximum number of records of changes by an account that administers nothing. */
export const MAX_ACCOUNT_RECORDS = 5_000;
/** Maximum number of failed logins: at most 1,100 bytes each with its slot, so 64 MiB in total. */
export const MAX_FAILED_RECORDS = 60_000;

/** The action of records of failed logins. */
export const LOGIN_FAILED = "login failed";
/**
 * The actor of a failed login if no account has the given name. The given name is not recorded,
 * because it may be a password typed into the wrong field. No account can have this name, because
 * it contains a space.
 */
export const UNKNOWN_ACCOUNT = "unknown account";

const RECORDS = "records/";
const DELETED = "deleted/";
/** No trail has this name: names of namespaces have no underscore. */
const FAILED_SHARE = "failed_logins";
const NUMBER_DIGITS = 4;
const SLOT_DIGITS = 5;
/** Greater than every character of the keys. */
const LAST = "~";

/** A record, with its key and slot. */
export interface PlacedRecord {
  readonly key: string;
  readonly record: AuditRecord;
  /** The slot of its share; undefined for a record without a share. */
  readonly slot: Slot | undefined;
}

/** A slot of a share. */
export interface Slot {
  readonly key: string;
  /** Whether an earlier record may have this slot, which is then replaced. */
  readonly isTaken: boolean;
}

/** How many records each share has ever had. */
export type ShareCounts = MapEntries<string, number>;

/** The name of a namespace's trail. A later namespace of the same name has another trail. */
export function trailOf({ name, id }: { readonly name: string; readonly id: string | undefined }): string {
  return id === undefined ? name : `${name}@${id}`;
}

/** Places records: each after all earlier ones of its trail and its share. */
export class RecordPlacer {
  readonly #shares: ShareCounts;
  /** How many records of a revision a trail has. */
  readonly #numbers = new Map<string, number>();

  constructor(shares: ShareCounts) {
    this.#shares = shares;
  }

  place(trail: string, record: AuditRecord): PlacedRecord {
    const revision = keyBefore(trail, record.revision);
    const number = this.#numbers.get(revision) ?? 0;
    this.#numbers.set(revision, number + 1);
    const key = numbered(revision, number);
    return { key, record, slot: this.#nextSlot(shareOf(trail, record)) };
  }

  #nextSlot(share: string | undefined): Slot | undefined {
    if (share === undefined) return undefined;
    const count = this.#shares.get(share) ?? 0;
    this.#shares.set(share, count + 1);
    const max = sizeOf(share);
    const key = `slots/${share}/${String(count % max).padStart(SLOT_DIGITS, "0")}`;
    return { key, isTaken: count >= max };
  }
}

/** Removes the shares of a trail that gets no more records. */
export function dropShares(shares: ShareCounts, trail: string): void {
  for (const share of [...shares.keys()]) if (share.startsWith(`${trail}/`)) shares.delete(share);
}

/** How many records were replaced by others of their share, by the kind of share. */
export function droppedRecords(shares: ShareCounts): readonly (readonly [kind: string, count: number])[] {
  let [failedLogins, accounts] = [0, 0];
  for (const [share, count] of shares) {
    const dropped = Math.max(count - sizeOf(share), 0);
    if (share === FAILED_SHARE) failedLogins += dropped;
    else accounts += dropped;
  }
  return [
    ["failed_logins", failedLogins],
    ["accounts", accounts],
  ];
}

/** The prefix of a trail's keys. */
export function prefixOf(trail: string): string {
  return `${RECORDS}${trail}/`;
}

/**
 * A key after the records of earlier revisions of the trail and before the records of this one.
 * Without a revision, a key after all records.
 */
export function keyBefore(trail: string, revision?: bigint): string {
  return prefixOf(trail) + (revision === undefined ? LAST : keyOf(Number(revision)));
}

/** A cursor (AuditRecord.cursor), or a revision for the end of that revision. */
export const CURSOR = /^\d{1,15}(?:\.\d{1,6})?$/;

/** The cursor of a record, by its key. */
function cursorIn(key: string): string {
  const [revision, number] = key.split("/").slice(-2).map(Number);
  return `${revision}.${number}`;
}

/**
 * A key before the records of a trail after a cursor, and not before the others.
 * @param cursor as in CURSOR; empty for the beginning
 */
export function keyAfter(trail: string, cursor: string): string {
  if (cursor === "") return prefixOf(trail);
  const [revision = "", number] = cursor.split(".");
  const before = keyBefore(trail, BigInt(revision));
  return number === undefined ? `${before}/${LAST}` : numbered(before, Number(number));
}

/** A record as it is read: with what its key says. */
export function withKey(key: string, record: AuditRecord): AuditRecord {
  return { ...record, namespace: trailIn(key).split("@", 1)[0]!, cursor: cursorIn(key) };
}

/** The key of the row that says that the records of a trail up to one were deleted. */
export function deletionOf(key: string): string {
  return DELETED + key.slice(RECORDS.length);
}

/** The range of the rows that say this of a trail. */
export function deletionsOf(trail: string): { readonly from: string; readonly to: string } {
  return { from: `${DELETED}${trail}/`, to: `${DELETED}${trail}/${LAST}` };
}

/** The cursor in the key of such a row. */
export const cursorOfDeletion = cursorIn;

/** The keys of the records before one in its revision, newest first. Some may be absent. */
export function earlierOfRevision(key: string): string[] {
  const end = key.lastIndexOf("/");
  const numbers = Array.from({ length: Number(key.slice(end + 1)) }, (_, number) => number);
  return numbers.reverse().map((number) => numbered(key.slice(0, end), number));
}

/** The key of a record. @param revision the key before the records of its revision */
function numbered(revision: string, number: number): string {
  return `${revision}/${String(number).padStart(NUMBER_DIGITS, "0")}`;
}

/** The range of the keys of all records. */
export const ALL_RECORDS = { from: RECORDS, to: RECORDS + LAST } as const;

/** The range of the keys of all rows that say what was deleted. */
export const ALL_DELETIONS = { from: DELETED, to: DELETED + LAST } as const;

/** The trail of a row in one of these ranges, and a key after all its rows there. */
export function trailOfRow(key: string, { from }: { readonly from: string }): { trail: string; end: string } {
  const end = key.indexOf("/", from.length);
  return { trail: key.slice(from.length, end), end: `${key.slice(0, end)}/${LAST}` };
}

/** The trail of a record, by its key. */
export function trailIn(key: string): string {
  return key.slice(RECORDS.length, key.indexOf("/", RECORDS.length));
}

function shareOf(trail: string, { action, administrator, actor }: AuditRecord): string | undefined {
  if (action === LOGIN_FAILED) return FAILED_SHARE;
  return administrator ? undefined : `${trail}/${actor}`;
}

function sizeOf(share: string): number {
  return share === FAILED_SHARE ? MAX_FAILED_RECORDS : MAX_ACCOUNT_RECORDS;
}
