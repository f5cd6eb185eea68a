/**
 * What a backup of the authority's store has, what a restore takes back, and its record. For
 * commands that have the store; no authority runs on it.
 */

import type { Logger } from "pino";
import { collectionOf } from "../../src/store/collection.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { timestampMs, toTimestamp } from "../../src/time.js";

import { type Beside, openBeside } from "./beside.js";
import { installationCreated } from "./bootstrap.js";
import { contextSecretCreated } from "./endpoints/enrolments.js";
import { AuditTrail } from "./log/audit/audit-trail.js";
import { PORTICO } from "./log/changelog/journal.js";

/** What a store has. */
export interface StoreFacts {
  readonly installation: string;
  readonly revision: number;
}

/**
 * Reads the whole log of a store, as an authority does when it starts.
 * @throws {StoreError} when something in it is missing, damaged, or from a newer version
 */
export async function factsOf(store: KeyValueStore, log: Logger): Promise<StoreFacts> {
  const beside = await openBeside({ store, log });
  try {
    return factsIn(beside);
  } finally {
    await beside.close();
  }
}

export function factsIn({ journal }: Beside): StoreFacts {
  return { installation: journal.state.installationId, revision: journal.state.revision };
}

interface Restore {
  readonly beside: Beside;
  readonly store: KeyValueStore;
  /** When the backup was made, in milliseconds since 1970. */
  readonly made: number;
  readonly keepsLogins: boolean;
  /** Whether it becomes an installation of its own. */
  readonly asCopy: boolean;
}

/**
 * Records the restore in the copy that becomes the store. No lease runs under the lease records of
 * the backup any more, so they are removed.
 */
export async function recordRestore({ beside, store, made, keepsLogins, asCopy }: Restore): Promise<StoreFacts> {
  const { journal } = beside;
  const { revision } = journal.state;
  const value = { made: toTimestamp(made), revision: BigInt(revision), keepsLogins };
  const own = asCopy ? [installationCreated(), contextSecretCreated()] : [];
  await journal.commit(PORTICO, () => [{ $case: "backupRestored", value }, ...own]);
  const grantors = collectionOf(store, "grantors");
  await grantors.delete(await grantors.keys());
  return factsIn(beside);
}

/** A record of a change that a backup lacks. */
export interface LostChange {
  readonly revision: bigint;
  /** In milliseconds since 1970. */
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
}

/**
 * The newest changes, at most `limit` of each namespace, that the audit trails of a store have and
 * those in the backup do not.
 */
export async function missingChanges(
  store: KeyValueStore,
  backup: KeyValueStore,
  limit: number,
): Promise<LostChange[]> {
  const records = await new AuditTrail(store).missingIn(new AuditTrail(backup), limit);
  return records.map(({ time, ...record }) => ({ ...record, time: timestampMs(time) }));
}
