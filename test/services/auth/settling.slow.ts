/** Equal authorities on a store in memory: no guard of any decides without a change that was acknowledged. */
import t from "tap";
import { settlingContract } from "../../contract/settling.js";
import { openMemoryStore } from "../../support/memory-store.js";

settlingContract(t, async (t) => {
  const store = openMemoryStore({ mayBeStale: true });
  t.teardown(() => store.close());
  return async () => ({ ...store, close: async () => undefined });
});
