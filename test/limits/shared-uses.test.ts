// Two authorities on one store: each shows what is left and how many were refused, also of subjects
// that the other one lends.
import t from "tap";
import { LimitsService, Per } from "../../src/gen/portico/auth/v1/limits.js";
import type { StoredWrite } from "../../src/store/store.js";
import { open as openAuthority } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";
import { until } from "../support/until.js";
import { callOnce, openLimited } from "./guards.js";

t.test("what is left of each subject is known to both authorities", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  const first = await openLimited(t, { store, leaseMs: 1_000 });
  const second = await openAuthority(t, { store, leaseMs: 1_000 });
  await first.create({ id: "daily", per: Per.ADDRESS, rate: "10/s", burst: 10n });
  // Enough for each authority to lend some of them: chance decides which.
  const addresses = Array.from({ length: 24 }, (_, index) => `192.0.2.${index}`);
  const ask = ({ call }: typeof second, address: string) =>
    call(LimitsService.show, { account: "", key: "", address, resource: "" }, first.token);
  const leftOf = (authority: typeof second) =>
    Promise.all(addresses.map(async (address) => (await ask(authority, address)).limits[0]?.rateLeft));
  const full = addresses.map(() => 10n);
  await until(async () => `${await leftOf(first)}` === `${full}` && `${await leftOf(second)}` === `${full}`);
  t.same(await leftOf(first), full);
  t.same(await leftOf(second), full);
  const guard = await first.guard();
  // It borrows from the first authority only, so the subjects of the second are unavailable to it.
  const calls = addresses.flatMap((address) => Array.from({ length: 15 }, () => callOnce(guard, { address })));
  await Promise.allSettled(calls);
  const refusedAt = async ({ call }: typeof second) =>
    (await call(LimitsService.list, { pageSize: 0, pageToken: "" }, first.token)).limits[0]?.refused ?? 0n;
  await until(async () => (await refusedAt(first)) > 0n && (await refusedAt(first)) === (await refusedAt(second)));
  await second.close();
  const began = performance.now();
  await leftOf(first);
  t.ok(performance.now() - began < 2_000, "an authority that is gone delays it by a second at most");
});

t.test("requests that come while the others are asked are one more question", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  const sent: string[] = [];
  const open = new Set<string>();
  let most = 0;
  const commit: typeof store.commit = (writes, options) => {
    for (const { kind, key } of writes as readonly StoredWrite[]) {
      if (!key.startsWith("uses/question/")) continue;
      if (kind === "delete") open.delete(key);
      else open.add(key);
      if (kind === "set") sent.push(key);
    }
    most = Math.max(most, open.size);
    return store.commit(writes, options);
  };
  const asking = await openLimited(t, { store: { ...store, commit } });
  const other = await openAuthority(t, { store });
  await asking.create({ id: "daily", rate: "10/s", burst: 10n });
  const list = { pageSize: 0, pageToken: "" };
  await until(async () => {
    await asking.call(LimitsService.list, list, asking.token);
    return sent.length > 0;
  });
  sent.length = 0;
  const asked = [];
  for (let request = 0; request < 50; request++) {
    asked.push(asking.call(LimitsService.list, list, asking.token));
    await new Promise(setImmediate);
  }
  for (const { limits } of await Promise.all(asked)) t.equal(limits.length, 1);
  t.equal(most, 1, "one at a time");
  t.ok(sent.length > 0 && sent.length < 50, `${sent.length} questions`);
  await other.close();
});
