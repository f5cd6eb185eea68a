/** The store of services of a process: opened when a service first uses it, and shared by all. */

import { StatusError } from "../errors.js";
import type { Logger } from "../log.js";
import type { MemoryBudget } from "../memory/memory-budget.js";
import { type KeyValueStore, StoreError } from "../store/store.js";
import { LeftData, type ListNamespaces } from "./namespace-data.js";
import { StoreReads } from "./store-reads.js";

export interface SharedStore {
  /** @throws {StoreError} (rejects) where it cannot be opened; the next use tries again. */
  readonly open: () => Promise<KeyValueStore>;
  /** Whose turn it is to read. */
  readonly reads: StoreReads;
  close(): Promise<void>;
}

/** What a shared store is opened with. */
interface SharedOptions {
  /** May begin something with it, and gives what ends that. */
  readonly onOpened?: (store: KeyValueStore) => { close(): Promise<void> };
  /** The memory of the process, which reads draw on; default one of their own. */
  readonly budget?: MemoryBudget | undefined;
}

/** @param open opens it */
export function sharedStore(open: () => Promise<KeyValueStore>, { onOpened, budget }: SharedOptions = {}): SharedStore {
  const reads = new StoreReads(budget);
  let user: { close(): Promise<void> } | undefined;
  let opening: Promise<KeyValueStore> | undefined;
  return {
    reads,
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
      await user?.close();
      await store?.close();
      reads.close();
    },
  };
}

/** What the store of the services of a process is opened with. */
export interface ServicesStoreOptions {
  /** As the settings say. */
  readonly url: string;
  readonly dataFolder: string;
  /** The services of this process. */
  readonly services: readonly string[];
  /** The service of a process that has joined; undefined for the process that has the authority. */
  readonly joined?: string | undefined;
  /** As of OpenOptions. */
  readonly isNew?: boolean | undefined;
  /** Asks the authority of the installation. */
  readonly list: ListNamespaces;
  readonly log: Logger;
  /** As for `sharedStore`. */
  readonly budget?: MemoryBudget | undefined;
}

/** The store of an installation's services. */
export interface InstallationStore extends SharedStore {
  /**
   * The file that `open` opens, `/var/lib/portico/services.sqlite`, of a store that is a file. One that is there already is opened,
   * unless it is in the installation's own folder: a start learns so that it is another installation's.
   * @throws {StoreError} (rejects) also until the authority has answered
   */
  check(): Promise<string>;
}

/** The store of services of the installation that the authority is of. The code of its engine is loaded when it is first used. */
export function installationStore(options: ServicesStoreOptions): InstallationStore {
  const { list, log, services, budget } = options;
  const owned = async () => ({
    ...options,
    installation: await installationOf(list),
    warn: (message: string) => log.warn(message),
  });
  const load = () => import("../store/owned-services.js");
  const adopted = (store: string): void =>
    log.warn({ store }, "this store had data and no installation: it belongs to this installation from now on");
  const store = sharedStore(async () => (await load()).openOwnedServices(await owned(), adopted), {
    onOpened: (opened) => new LeftData(opened, list, { services, log }),
    budget,
  });
  const check = async (): Promise<string> => {
    const [{ serviceStoreOf, isThereElsewhere }, known] = await Promise.all([load(), owned()]);
    const file = serviceStoreOf(known);
    if (isThereElsewhere(file, known.installation)) await store.open();
    return file;
  };
  return { ...store, check };
}

/** @throws {StoreError} (rejects) where the authority does not answer. */
async function installationOf(list: ListNamespaces): Promise<string> {
  const unopened = "the store of services cannot be opened before the authority says which installation it belongs to";
  try {
    return (await list()).installation;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw new StoreError(`${unopened}: ${error.message}`, { cause: error });
  }
}
