// People are read again at two authorities that share a store in memory.
import t from "tap";
import { readingsContract } from "../contract/readings.js";
import { openMemoryStore } from "../support/memory-store.js";

readingsContract(t, async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => store.close());
  return async () => ({ ...store, close: async () => undefined });
});
