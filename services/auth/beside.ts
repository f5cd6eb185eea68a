/**
 * Opens the store for one change while authorities may be running on it. Used by commands on a
 * machine that has the store. The authorities follow the log, so they learn of the change by
 * themselves.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { collectionOf } from "../../src/store/collection.js";
import { type KeyValueStore, StoreError } from "../../src/store/store.js";

import { ChangeLog } from "./log/changelog/change-log.js";
import { Journal } from "./log/changelog/journal.js";
import { longestSpan } from "./log/leases/lease-records.js";
import { SharedLeaseRecords } from "./log/leases/shared-lease-records.js";
import { AuthorityClock, MACHINE_CLOCKS } from "./log/time/clock.js";
import { StoredTime } from "./log/time/stored-time.js";

/** An open store. */
export interface Beside {
  readonly journal: Journal;
  /** Resolves when no guard decides without the revision: after at most one lease plus 5%. */
  settled(revision: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A lease time, in milliseconds, that determines only how often the lease records of other
 * authorities are read. A command grants no leases.
 */
const LEASE_MS = 5_000;

/** @throws {StoreError} when the store cannot be used, or no authority has set it up yet. */
export async function openBeside({ store, log }: { store: KeyValueStore; log: Logger }): Promise<Beside> {
  const now = (): number => performance.now();
  const clock = new AuthorityClock({ clocks: MACHINE_CLOCKS, log });
  const journal = await Journal.open({ log: new ChangeLog({ store, log }), logger: log, clock });
  if (journal.state.revision === 0) {
    throw new StoreError(`store ${store.name} is not set up yet; start portico authority or portico server first`);
  }
  const grantors = collectionOf(store, "grantors");
  let settled: Beside["settled"] = async () => {
    await sleep(await longestSpan(grantors));
  };
  let close = (): Promise<void> => journal.close();
  if (store.mayBeStale) {
    const lacking = () => ({}); // A command has no guards, and writes no lease record.
    const about = { clock, name: "a command", lacking };
    const leaseRecords = new SharedLeaseRecords({
      store,
      rows: grantors,
      journal,
      log,
      now,
      leaseMs: LEASE_MS,
      ...about,
    });
    settled = (revision) => leaseRecords.settled(revision);
    close = async () => {
      await journal.close();
      await leaseRecords.withdraw(0);
    };
    // Compares the clock of this machine with the other clocks.
    await leaseRecords.open();
  }
  const stored = await new StoredTime({ rows: collectionOf(store, "time"), store, journal, clock }).read();
  clock.start({ stored, accept: false });
  return { journal, settled, close };
}
