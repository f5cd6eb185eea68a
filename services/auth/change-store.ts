/** Changes of the store by a process that has it, and no authority. Authorities of other processes follow the log. */
import type { Logger } from "pino";
import { type Store, StoreError } from "../../src/store/store.js";
import { installationCreated } from "./bootstrap.js";
import { contextSecretCreated } from "./endpoints/enrolments.js";
import { ChangeLog } from "./log/change-log.js";
import { Clock, MACHINE_CLOCKS } from "./log/clock.js";
import { Journal, PORTICO } from "./log/journal.js";
import { StoredTime } from "./log/stored-time.js";

/** @throws {StoreError} when the store cannot be used, or no authority has set it up yet. */
export async function changeStore<T>(store: Store, log: Logger, change: (journal: Journal) => Promise<T>): Promise<T> {
  const clock = new Clock({ clocks: MACHINE_CLOCKS, log });
  const journal = await Journal.open({ log: new ChangeLog({ store, log }), logger: log, clock });
  try {
    if (journal.state.revision === 0) {
      throw new StoreError(`store ${store.name} is not set up yet; start portico authority or portico server first`);
    }
    const stored = await new StoredTime({ rows: store.collection("time"), journal, clock }).read();
    clock.start({ stored, accept: false });
    return await change(journal);
  } finally {
    await journal.close();
  }
}

/**
 * Makes an installation of its own of a copy: with another ID, and other keys for contexts, so that what the original signs is
 * not good here. Accounts, keys and enrolments are those of the original.
 * @returns the ID
 */
export function makeOwnInstallation(store: Store, log: Logger): Promise<string> {
  return changeStore(store, log, async (journal) => {
    await journal.commit(PORTICO, () => [installationCreated(), contextSecretCreated()]);
    return journal.state.installationId;
  });
}
