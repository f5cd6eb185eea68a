/** The store of services of a process: opened when a service first uses it, and shared by all. */
import type { ServiceStore } from "../store/service-store.js";

export interface SharedStore {
  /** @throws {StoreError} (rejects) where it cannot be opened; the next use tries again. */
  readonly open: () => Promise<ServiceStore>;
  close(): Promise<void>;
}

/** @param open opens it */
export function sharedStore(open: () => Promise<ServiceStore>): SharedStore {
  let opening: Promise<ServiceStore> | undefined;
  return {
    open() {
      opening ??= open();
      opening.catch(() => {
        opening = undefined;
      });
      return opening;
    },
    async close() {
      const store = await opening?.catch(() => undefined);
      await store?.close();
    },
  };
}

/**
 * The store that a setting names. The code of its engine too is loaded when it is first used.
 * @param dataFolder where `sqlite:` is services.sqlite
 * @param warn told what puts acknowledged writes at risk
 */
export function openStoreIn(dataFolder: string, url = "sqlite:", warn = (_message: string): void => {}): SharedStore {
  return sharedStore(async () => (await import("../store/open.js")).openServiceStore(url, dataFolder, { warn }));
}
