/** Changes of the store by a process that has it, and no authority. Authorities of other processes follow the log. */

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
 * Makes an installation of its own of a copy: with another ID, and other keys for contexts, so that what the original signs is
 * not good here. Accounts, keys and enrolments are those of the original.
 * @returns the ID
 */
export function makeOwnInstallation(store: KeyValueStore, log: Logger): Promise<string> {
  return changeStore(store, log, async (journal) => {
    await journal.commit(PORTICO, () => [installationCreated(), contextSecretCreated()]);
    return journal.state.installationId;
  });
}
