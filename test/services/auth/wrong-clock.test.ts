/** One wrong clock among several stops nothing, on a store in memory. */
import t from "tap";
import { start, wrongClockContract } from "../../contract/wrong-clock.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { until } from "../../support/until.js";
import { isGood } from "./open.js";

const HOUR = 3_600_000;

/** A store whose clock is wrong by `off` milliseconds. */
function database(off = 0) {
  const store = openMemoryStore({ mayBeStale: true, time: () => Date.now() + off });
  return async () => ({ ...store, close: async () => undefined });
}

wrongClockContract(t, async () => database());

t.test("a wrong clock of the database stops nothing", async (t) => {
  for (const off of [-72 * HOUR, -HOUR, HOUR, 72 * HOUR]) {
    const openStore = database(off);
    const members = [await start(t, openStore), await start(t, openStore), await start(t, openStore)];
    for (const member of members) {
      const token = await member.login();
      for (const guard of members) t.ok(await isGood(guard, token), `${off}`);
    }
    await until(() => members.every(({ authority }) => authority.errors().length === 0), {
      what: () => `${off}: no clock of a machine is said to be wrong, once two agree`,
    });
    for (const member of members) await member.close();
  }
});

t.test("a single authority reports that its clock and the database's clock differ, and continues", async (t) => {
  const openStore = database(-HOUR);
  const alone = await start(t, openStore);
  t.ok(await isGood(alone, await alone.login()));
  t.match(alone.authority.errors(), [/3600 s ahead of the database's clock/]);
});
