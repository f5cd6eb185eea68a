/** Several authorities on a store in memory: no guard decides without an acknowledged change. */
import t from "tap";
import { settlingContract } from "../../contract/settling.js";
import { FULL } from "../../support/full.js";
import { openMemoryStore } from "../../support/memory-store.js";

settlingContract(
  t,
  async (t) => {
    const store = openMemoryStore({ mayBeStale: true });
    t.teardown(() => store.close());
    return async () => ({ ...store, close: async () => undefined });
  },
  { allSteps: FULL },
);
