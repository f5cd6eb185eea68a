/**
 * Records of the audit trail: the key of each in the collection `audit`, and the share that it counts to. So a change is
 * recorded in the commit that makes it, and callers with few rights push out nobody's records but their own:
 *
 *     changes by administrators and by the authority itself   no share: they are kept by time alone
 *     changes by another account                              a share of each account
 *     failed logins, for which a client needs no account      one share of all namespaces
 *
 * The rows, where a trail is a namespace's name, with its identity where it has one:
 *     records/<trail>/<revision>/<number>   a record, in the order of the log
 *     slots/<share>/<number>                the key of a record of a share, which has a fixed number of slots
 *
 * The record that takes a slot pushes out the one that had it. Which slot is next follows from how many records a share has
 * ever had, which is part of the state: so no record of a share is looked for.
 */
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import type { MapEntries } from "../changelog/draft-map.js";
import { keyOf } from "../changelog/row.js";

/** Most records of changes by an account without the scope `admin`. */
export const MAX_ACCOUNT_RECORDS = 5_000;
/** Most records of failed logins: with the longest names and addresses, and its slot, one takes less than 1,100 bytes; all 64 MiB. */
export const MAX_FAILED_RECORDS = 60_000;

/** The action of records of failed logins. */
export const LOGIN_FAILED = "login failed";
/**
 * Who failed to log in, where no account has the name that was given: a name that is not known may be a password that was typed
 * into the wrong field. No account can be called so, because of the space.
 */
export const UNKNOWN_ACCOUNT = "unknown account";

const RECORDS = "records/";
/** No trail has this name: names of namespaces have no underscore. */
const FAILED_SHARE = "failed_logins";
const NUMBER_DIGITS = 4;
const SLOT_DIGITS = 5;
/** Greater than every character of the keys. */
const LAST = "~";

/** A record, and where it is kept. */
export interface PlacedRecord {
  readonly key: string;
  readonly record: AuditRecord;
  /** What it takes of its share; undefined for a record without a share. */
  readonly slot: Slot | undefined;
}

/** A slot of a share. */
export interface Slot {
  readonly key: string;
  /** Whether an earlier record may have it, and gives way. */
  readonly isTaken: boolean;
}

/** How many records each share has ever had. */
export type ShareCounts = MapEntries<string, number>;

/** The name of a namespace's trail. One of the same name that was created later has another trail. */
export function trailOf({ name, id }: { readonly name: string; readonly id: string | undefined }): string {
  return id === undefined ? name : `${name}@${id}`;
}

/** Places records, each behind all others of its trail and of its share. */
export class RecordPlacer {
  readonly #shares: ShareCounts;
  /** How many records a trail has of a revision. */
  readonly #numbers = new Map<string, number>();

  constructor(shares: ShareCounts) {
    this.#shares = shares;
  }

  place(trail: string, record: AuditRecord): PlacedRecord {
    const revision = keyBefore(trail, record.revision);
    const number = this.#numbers.get(revision) ?? 0;
    this.#numbers.set(revision, number + 1);
    const key = `${revision}/${String(number).padStart(NUMBER_DIGITS, "0")}`;
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

/** Forgets the shares of a trail to which nothing will be added. */
export function dropShares(shares: ShareCounts, trail: string): void {
  for (const share of [...shares.keys()]) if (share.startsWith(`${trail}/`)) shares.delete(share);
}

/** How many records have given way to others of their share, by the kind of share. */
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

/** A key above those of the revisions before one, and below all others; without a revision, above all of the trail. */
export function keyBefore(trail: string, revision?: bigint): string {
  return prefixOf(trail) + (revision === undefined ? LAST : keyOf(Number(revision)));
}

/** Between which keys all records are. */
export const ALL_RECORDS = { from: RECORDS, to: RECORDS + LAST } as const;

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
