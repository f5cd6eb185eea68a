/** Changes the store from a process without an authority. Running authorities follow the log. */

import type { Logger } from "pino";
import type { KeyValueStore } from "../../src/store/store.js";

import { openBeside } from "./beside.js";
import { installationCreated } from "./bootstrap.js";
import { contextSecretCreated } from "./endpoints/enrolments.js";
import { type Journal, PORTICO } from "./log/changelog/journal.js";

/** @throws {StoreError} when the store cannot be used, or no authority has set it up yet. */
export async function changeStore<T>(
  store: KeyValueStore,
  log: Logger,
  change: (journal: Journal) => Promise<T>,
): Promise<T> {
  const { journal, close } = await openBeside({ store, log });
  try {
    return await change(journal);
  } finally {
    await close();
  }
}

/**
 * Makes a copy of an installation independent: it gets another ID and other keys for caller
 * assertions, so that it refuses what the original signs. Its accounts, keys and enrolments stay
 * the same as in the original.
 * @returns the new ID
 */
export function makeOwnInstallation(store: KeyValueStore, log: Logger): Promise<string> {
  return changeStore(store, log, async (journal) => {
    await journal.commit(PORTICO, () => [installationCreated(), contextSecretCreated()]);
    return journal.state.installationId;
  });
}
