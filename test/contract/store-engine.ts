/** Runs a suite of behaviours on an engine of the store. */
import type { Test } from "tap";
import type { KeyValueStore } from "../../src/store/store.js";

/** How a suite opens the stores of an engine. */
export interface Engine {
  /** Opens an empty store. */
  open(t: Test): Promise<KeyValueStore>;
  /** Opens a store with the same content, as another process does. */
  openAgain(store: KeyValueStore): Promise<KeyValueStore>;
}

/** Checks a behaviour on an empty store. `openAgain` opens it once more, until the test ends. */
export type Check = (t: Test, store: KeyValueStore, openAgain: () => Promise<KeyValueStore>) => Promise<void>;

/** @param atOnce the number of checks that run at once, for checks that mostly wait */
export function checkOn(
  t: Test,
  { open, openAgain }: Engine,
  behaviours: Readonly<Record<string, Check>>,
  atOnce = 1,
): void {
  t.jobs = atOnce;
  for (const [behaviour, check] of Object.entries(behaviours)) {
    t.test(behaviour, { buffered: atOnce > 1 }, async (t) => {
      const store = await open(t);
      t.teardown(() => store.close());
      await check(t, store, async () => {
        const again = await openAgain(store);
        t.teardown(() => again.close());
        return again;
      });
    });
  }
}
