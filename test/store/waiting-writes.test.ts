/**
 * Writes that wait for another process's lock do not block reads. They are not made after their
 * caller has given up.
 */

import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t, { type Test } from "tap";
import { type Collection, collectionOf } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";

/** A store that another process has locked for writing. */
async function openLocked(t: Test, deadline: number) {
  const folder = t.testdir();
  const store = await openStore("sqlite:", folder, { timeoutMs: deadline });
  const log = collectionOf(store, "log");
  await log.create("known", "x");
  const other = new KeyvSqlite(`sqlite://${join(folder, "portico.sqlite")}`);
  await other.query("BEGIN IMMEDIATE");
  t.teardown(async () => {
    await other.close();
    await store.close();
  });
  return { store, log, unlock: () => other.query("ROLLBACK") };
}

/** More writes than Node has threads for them. */
const writeMany = (log: Collection): Promise<boolean>[] =>
  Array.from({ length: 12 }, (_, index) => log.create(`new ${index}`, "x"));

t.test("reads succeed while many writes wait", async (t) => {
  const { store, log, unlock } = await openLocked(t, 4_000);
  const writes = writeMany(log);
  const firstWrite = Promise.race(writes).then(() => "a write");
  for (let round = 0; round < 3; round++) {
    const reads = Promise.all([log.get("known"), log.getMany(["known"]), log.after("", 1), log.keys()]);
    t.equal(await Promise.race([reads.then(() => "the reads"), firstWrite]), "the reads");
    t.equal(
      await Promise.race([
        collectionOf(store, "usage")
          .keys()
          .then(() => "a read"),
        firstWrite,
      ]),
      "a read",
    );
  }
  await unlock();
  t.same(await Promise.all(writes), Array(12).fill(true));
});

t.test("a write whose deadline passes in the queue is not made", async (t) => {
  const { log, unlock } = await openLocked(t, 2_000);
  const ends = await Promise.allSettled(writeMany(log));
  t.ok(ends.every(({ status }) => status === "rejected"));
  await unlock();
  t.equal(await log.create("after them", "x"), true);
  // The first writes had their turn in time, and waited for the lock itself.
  const late = Array.from({ length: 8 }, (_, index) => `new ${index + 4}`);
  t.same(await log.getMany(late), Array(8).fill(undefined));
});
