/** Whether another authority may have granted leases that still run. */
import t from "tap";
import { Grantors } from "../../services/auth/grantors.js";
import { openMemoryStore } from "../../src/store.js";
import { silent } from "./open.js";

const LEASE = 5_000;
/** Two seconds between rows, the lease, and a twentieth of it. */
const LIFE = 2_000 + LEASE + LEASE / 20;

t.test("grantors", async (t) => {
  let now = 0;
  const rows = openMemoryStore().collection("grantors");
  const open = (clock = () => now) => new Grantors({ rows, log: silent, now: clock, leaseMs: LEASE });
  const [granting, committing] = [open(), open()];

  await t.test("in a fresh installation there are none", async (t) => {
    t.equal(await committing.othersMayGrant(), false);
  });

  await t.test("an authority that announced itself may grant, though not to itself", async (t) => {
    await granting.announce();
    t.equal(await committing.othersMayGrant(), true);
    t.equal(await granting.othersMayGrant(), false);
  });

  await t.test("it goes on as long as it announces itself anew, with one row", async (t) => {
    for (let seconds = 0; seconds < 60; seconds++) {
      now += 1_000;
      await granting.announce();
      t.equal(await committing.othersMayGrant(), true);
      t.equal((await rows.keys()).length, 1);
    }
  });

  await t.test("once it is silent for so long that all leases have run out, its row is deleted", async (t) => {
    await committing.othersMayGrant();
    now += LIFE;
    t.equal(await committing.othersMayGrant(), true);
    now += 1;
    t.equal(await committing.othersMayGrant(), false);
    t.same(await rows.keys(), []);
  });

  await t.test("it comes back with a row that a late deletion does not hit", async (t) => {
    await granting.announce();
    t.equal(await committing.othersMayGrant(), true);
    now += LIFE + 1;
    const [dead] = await rows.keys();
    await granting.announce();
    await rows.delete([dead!]);
    t.equal(await committing.othersMayGrant(), true);
  });

  await t.test("an authority that has just started knows of no time before", async (t) => {
    now += 10 * LIFE;
    const fresh = open(() => now);
    t.equal(await fresh.othersMayGrant(), true, "the row may have been left a moment ago");
    now += LIFE + 1;
    t.equal(await fresh.othersMayGrant(), false);
  });

  await t.test("one that withdraws leaves no row", async (t) => {
    await granting.announce();
    await granting.withdraw();
    t.same(await rows.keys(), []);
  });
});

t.test("where the rows cannot be read, another may grant", async (t) => {
  const store = openMemoryStore();
  const broken = { ...store.collection("grantors"), keys: () => Promise.reject(new Error("the disk is gone")) };
  const grantors = new Grantors({ rows: broken, log: silent, now: () => 0, leaseMs: LEASE });
  t.equal(await grantors.othersMayGrant(), true);
});
