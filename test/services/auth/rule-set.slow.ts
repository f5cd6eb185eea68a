/**
 * `Rules.Set` by several authorities, on a store in memory and on one SQLite file; mirrors
 * services/auth/endpoints/rules.ts.
 */
import t from "tap";
import { openStore } from "../../../src/store/open.js";
import { ruleSetContract } from "../../contract/rule-set.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { temporaryFolder } from "../../support/temporary.js";

t.test("on a store in memory", async (t) => {
  ruleSetContract(t, async (t) => {
    const store = openMemoryStore({ mayBeStale: true });
    t.teardown(() => store.close());
    return async () => ({ ...store, close: async () => undefined });
  });
});

t.test("on one SQLite file", async (t) => {
  ruleSetContract(t, async (t) => {
    const folder = temporaryFolder(t);
    return () => openStore("sqlite:", folder);
  });
});
