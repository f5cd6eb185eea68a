// Sign-ins at two authorities that share a store in memory.
import t from "tap";
import { signInsContract } from "../contract/sign-ins.js";
import { openMemoryStore } from "../support/memory-store.js";

signInsContract(t, async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => store.close());
  return async () => ({ ...store, close: async () => undefined });
});
