/** A new password for the administrator, set directly in the store. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { firstEntry } from "../../../services/auth/bootstrap.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { recoverAdmin } from "../../../services/auth/recover.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { recoverContract } from "../../contract/recover.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { CHEAP } from "../../support/passwords.js";
import { temporaryFolder } from "../../support/temporary.js";
import { HASH, openJournal, silent } from "./open.js";

// Most of their time is the wait for leases to end.
t.jobs = 6;
t.test("sets the password in a SQLite file", async (t) => {
  recoverContract(
    t,
    async (t) => {
      const folder = temporaryFolder(t);
      return () => openStore("sqlite:", folder);
    },
    { count: 1 },
  );
});

t.test("sets the password in a store that several authorities share", async (t) => {
  recoverContract(
    t,
    async () => {
      const store = openMemoryStore({ mayBeStale: true });
      return async () => ({ ...store, close: async () => undefined });
    },
    { count: 2 },
  );
});

t.test("refuses a data folder of another store", async (t) => {
  const dataFolder = t.testdir({});
  writeFileSync(join(dataFolder, "store-location"), "postgres://db.example.com/portico\n");
  const given = { dataFolder, passwordCost: CHEAP, log: silent };
  const store = openMemoryStore();
  await t.rejects(
    recoverAdmin({ store, ...given }),
    /belongs to store postgres:\S+, not to in memory; name the folder/,
  );
});

t.test("refuses a store that was never set up", async (t) => {
  const given = { dataFolder: t.testdir(), passwordCost: CHEAP, log: silent };
  const store = openMemoryStore();
  await t.rejects(recoverAdmin({ store, ...given }), /is not set up yet/);
  t.same(await collectionOf(store, "log").keys(), []);
});

/** The span of the leases of an authority that is gone, in milliseconds. */
const SPAN = 1_000;

for (const { title, mayBeStale, leaseRecord } of [
  { title: "one machine", mayBeStale: false, leaseRecord: `${SPAN}` },
  { title: "several machines", mayBeStale: true, leaseRecord: `${SPAN} 1 ${Date.now()} ${Date.now()} another` },
]) {
  t.test(`returns when the leases of all authorities have ended, on a store of ${title}`, async (t) => {
    const store = openMemoryStore({ mayBeStale });
    const journal = await openJournal(store);
    await journal.commit(PORTICO, () => firstEntry(HASH, []));
    await collectionOf(store, "grantors").create("another", leaseRecord);
    const begin = performance.now();
    await recoverAdmin({ store, dataFolder: t.testdir(), passwordCost: CHEAP, log: silent });
    // Timers may fire a millisecond early.
    t.ok(performance.now() - begin >= SPAN - 1, `${performance.now() - begin}`);
  });
}
