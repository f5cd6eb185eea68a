// A quota that is deleted and created again under its ID is a new one. Rows that are still deleted
// of the former one are never its own, whichever authority is late: so it is not exceeded.
import t from "tap";
import { Lender } from "../../services/auth/limits/lender.js";
import { Quotas } from "../../services/auth/limits/quotas.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { openJournal, silent } from "../services/auth/open.js";
import { deferred } from "../support/deferred.js";
import { openMemoryStore } from "../support/memory-store.js";
import { until } from "../support/until.js";
import { grantedOf, openLimited } from "./guards.js";

const LENDER = { id: "b", maxCallMs: 2_000, log: silent, now: () => 0, settled: async () => undefined };
const QUOTA = { id: "daily", quota: "10/day" };

/** The store, where the first commit that deletes rows of quotas waits until it is released. */
function slow(store: KeyValueStore) {
  const held = deferred();
  const asked = deferred();
  const commit: typeof store.commit = async (writes, options) => {
    if (writes.some(({ kind, key }) => kind === "delete" && key.startsWith("quotas/"))) {
      asked.resolve();
      await held.promise;
    }
    return store.commit(writes, options);
  };
  return { store: { ...store, commit }, asked: asked.promise, release: held.resolve };
}

const used = async (store: KeyValueStore): Promise<string[]> =>
  (await store.range({ from: "quotas/", to: "quotas0", limit: 10 })).entries.map(({ value }) => value);

/** Lends all calls of the quota, as any authority may that has the limit. */
async function lendAll(store: KeyValueStore): Promise<void> {
  const terms = { calls: 10, period: "day" } as const;
  const quotas = new Quotas({ store, terms, namespace: "default", limit: "daily" });
  const asked = { guard: "a", kept: 0, returned: 0, waiting: 1, soon: 0 };
  let lent = 0;
  while (lent < 10) lent += (await quotas.lend("", asked, Date.now())).amount;
}

t.test("a limit that is deleted has no rows", async (t) => {
  const store = openMemoryStore();
  const limited = await openLimited(t, { store });
  await limited.create(QUOTA);
  await lendAll(store);
  t.same(await used(store), ["10"]);
  await limited.delete("daily");
  await until(async () => (await used(store)).length === 0);
});

t.test("an authority that is late with the deletion", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  const first = await openLimited(t, { store });
  await first.create(QUOTA);
  const journal = await openJournal(store);
  const lender = new Lender({ ...LENDER, journal, store });
  t.teardown(() => lender.close());
  await first.delete("daily");
  await first.create(QUOTA);
  await lendAll(store);
  // Now it learns of the deletion.
  await journal.sync();
  await new Promise(setImmediate);
  t.same(await used(store), ["10"]);
});

t.test("its rows are about to be deleted when it is created again", async (t) => {
  const store = openMemoryStore();
  const late = slow(store);
  const limited = await openLimited(t, { store: late.store });
  await limited.create(QUOTA);
  const guard = await limited.guard();
  t.equal(await grantedOf(guard, 4), 4);
  await limited.delete("daily");
  await late.asked;
  await limited.create(QUOTA);
  t.equal(await grantedOf(guard, 10), 6, "what was not deleted counts");
  late.release();
  t.equal(await grantedOf(guard, 1), 0);
  t.same(await used(store), ["10"]);
});
