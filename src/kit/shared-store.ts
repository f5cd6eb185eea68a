/** The store that all services of a process share. It is opened when a service first uses it. */

import { StatusError } from "../errors.js";
import type { Logger } from "../log.js";
import type { MemoryBudget } from "../memory/memory-budget.js";
import { type KeyValueStore, StoreError } from "../store/store.js";
import { watchErrors } from "../store/watched-errors.js";
import { ChangeFeeds } from "./change-feeds.js";
import { type ListNamespaces, NamespaceDataSweeper } from "./namespace-data.js";
import { Quota } from "./quota.js";
import { StoreReads } from "./store-reads.js";

export interface SharedStore {
  /** @throws {StoreError} (rejects) if it cannot be opened; the next use tries again */
  readonly open: () => Promise<KeyValueStore>;
  /** Schedules the reads. */
  readonly reads: StoreReads;
  /** The changes for watches. */
  readonly feeds: ChangeFeeds;
  readonly quota: Quota | undefined;
  close(): Promise<void>;
}

interface SharedOptions {
  /** Called when the store was opened. May start work on it, and returns what ends this work. */
  readonly onOpened?: (store: KeyValueStore) => { close(): Promise<void> };
  /** The memory budget of the process, in which reads reserve memory; default a separate one. */
  readonly budget?: MemoryBudget | undefined;
  /** The maximum number of bytes of a service in a namespace; default none. */
  readonly quota?: number | undefined;
}

/** @param open opens the store */
export function sharedStore(
  open: () => Promise<KeyValueStore>,
  { onOpened, budget, quota }: SharedOptions = {},
): SharedStore {
  const reads = new StoreReads(budget);
  const feeds = new ChangeFeeds(reads);
  let user: { close(): Promise<void> } | undefined;
  let opening: Promise<KeyValueStore> | undefined;
  return {
    reads,
    feeds,
    quota: quota === undefined ? undefined : new Quota(quota),
    open() {
      opening ??= open().then((store) => {
        user = onOpened?.(store);
        return store;
      });
      opening.catch(() => {
        opening = undefined;
      });
      return opening;
    },
    async close() {
      const store = await opening?.catch(() => undefined);
      feeds.close();
      await user?.close();
      await store?.close();
      reads.close();
    },
  };
}

/** The options for the store of a process's services. */
export interface ServicesStoreOptions {
  /** From the settings. */
  readonly url: string;
  readonly dataFolder: string;
  /** The services of this process. */
  readonly services: readonly string[];
  /** The service of a process that has joined; undefined for the process with the authority. */
  readonly joined?: string | undefined;
  /** As in OpenOptions. */
  readonly isNew?: boolean | undefined;
  /** Asks the authority of the installation. */
  readonly list: ListNamespaces;
  readonly log: Logger;
  /** As for `sharedStore`. */
  readonly budget?: MemoryBudget | undefined;
  readonly quota?: number | undefined;
  /** Called for each operation of the store that fails. */
  readonly onError?: (() => void) | undefined;
}

/** The store of an installation's services. */
export interface InstallationStore extends SharedStore {
  /**
   * The file that `open` opens, `/var/lib/portico/services.sqlite`, if the store is a file. If the
   * file exists outside the installation's own folder, this opens it, so that a start reports that
   * it belongs to another installation.
   * @throws {StoreError} (rejects) also until the authority has responded
   */
  check(): Promise<string>;
}

/**
 * The store of the services of the authority's installation. The code of its engine is loaded at
 * the first use.
 */
export function installationStore(options: ServicesStoreOptions): InstallationStore {
  const { list, log, services, budget, quota, onError = () => {} } = options;
  const owned = async () => ({
    ...options,
    installation: await installationOf(list),
    warn: (message: string) => log.warn(message),
  });
  const load = () => import("../store/owned-services.js");
  const adopted = (store: string): void =>
    log.warn({ store }, "this store had data and no installation: it belongs to this installation from now on");
  const open = async () => (await load()).openOwnedServices(await owned(), adopted);
  const store = sharedStore(async () => watchErrors(await open(), onError), {
    onOpened: (opened) => new NamespaceDataSweeper(opened, list, { services, log }),
    budget,
    quota,
  });
  const check = async (): Promise<string> => {
    const [{ serviceStoreOf, isThereElsewhere }, known] = await Promise.all([load(), owned()]);
    const file = serviceStoreOf(known);
    if (isThereElsewhere(file, known.installation)) await store.open();
    return file;
  };
  return { ...store, check };
}

/** @throws {StoreError} (rejects) if the authority does not respond */
async function installationOf(list: ListNamespaces): Promise<string> {
  const unopened = "the store of services cannot be opened before the authority says which installation it belongs to";
  try {
    return (await list()).installation;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw new StoreError(`${unopened}: ${error.message}`, { cause: error });
  }
}
