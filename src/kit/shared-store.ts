/** The store of services of a process: opened when a service first uses it, and shared by all. */
import type { ServiceStore } from "../store/service-store.js";
import { LeftData, type ListNamespaces } from "./namespace-data.js";

export interface SharedStore {
  /** @throws {StoreError} (rejects) where it cannot be opened; the next use tries again. */
  readonly open: () => Promise<ServiceStore>;
  close(): Promise<void>;
}

/**
 * @param open opens it
 * @param list the namespaces that there are; without it, what others have left stays in the store
 */
export function sharedStore(open: () => Promise<ServiceStore>, list?: ListNamespaces): SharedStore {
  let leftData: LeftData | undefined;
  let opening: Promise<ServiceStore> | undefined;
  return {
    open() {
      opening ??= open().then((store) => {
        if (list !== undefined) leftData = new LeftData(store, list);
        return store;
      });
      opening.catch(() => {
        opening = undefined;
      });
      return opening;
    },
    async close() {
      const store = await opening?.catch(() => undefined);
      await leftData?.close();
      await store?.close();
    },
  };
}

/** What a store of services is opened with. */
export interface StoreOptions {
  /** Told what puts acknowledged writes at risk. */
  readonly warn?: (message: string) => void;
  /** As for `sharedStore`. */
  readonly list?: ListNamespaces | undefined;
}

/**
 * The store that a setting names. The code of its engine too is loaded when it is first used.
 * @param dataFolder where `sqlite:` is services.sqlite
 */
export function openStoreIn(dataFolder: string, url = "sqlite:", { warn, list }: StoreOptions = {}): SharedStore {
  return sharedStore(
    async () => (await import("../store/open.js")).openServiceStore(url, dataFolder, warn && { warn }),
    list,
  );
}
