/**
 * Concurrent writes of several processes to a store on Postgres take effect in one order, which all
 * processes see.
 */

import t from "tap";
import { collectionOf, writesTo } from "../../src/store/collection.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { openOn } from "./open-postgres.js";

const { expect, create } = writesTo("log");
const ROUNDS = 60;

t.test("concurrent writes", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const [log, other] = [collectionOf(await openOn(t, server), "log"), collectionOf(await openOn(t, server), "log")];

  /** What may happen to the entry that the new one needs. */
  const REMOVALS: Record<string, (key: string) => Promise<unknown>> = {
    "deleted with the new entry": (key) => other.delete([key, `${key} next`]),
    "deleted if it has its value": (key) => other.deleteIf(key, "x"),
    replaced: (key) => other.replace(key, "y"),
  };
  for (const [what, remove] of Object.entries(REMOVALS)) {
    t.test(`create no entry if the entry that it depends on is ${what} first`, async (t) => {
      let created = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const [key, next] = [`${what} ${round}`, `${what} ${round} next`];
        await log.create(key, "x");
        const [written] = await Promise.all([log.commit([expect([key, "x"]), create([next, "new"])]), remove(key)]);
        const [before, after] = await log.getMany([key, next]);
        t.not(before, "x");
        // Deleted in one statement with the new entry: if the creation came first, the entry was
        // deleted with the other.
        if (what === "deleted with the new entry") t.equal(after === undefined || written, true);
        else t.equal(after, written ? "new" : undefined);
        created += written ? 1 : 0;
      }
      t.comment(`${created} of ${ROUNDS} were created first`);
    });
  }

  t.test("never deadlock, whatever the order of deleted and created keys", async (t) => {
    const keys = Array.from({ length: 20 }, (_, key) => `many ${key}`);
    for (let round = 0; round < 10; round++) {
      await Promise.all(keys.map((key) => log.create(key, "x")));
      await Promise.all([
        log.delete(keys),
        other.delete(keys.toReversed()),
        ...keys.slice(1).map((key, index) => other.commit([expect([keys[index] ?? "", "x"]), create([key, "y"])])),
      ]);
      await log.delete(keys);
    }
    t.same(
      (await log.getMany(keys)).filter((value) => value !== undefined),
      [],
    );
  });

  t.test(
    "do not wait for writes to other collections, and non-durable ones do not wait for durable ones",
    async (t) => {
      const store = await openOn(t, server);
      const claims = collectionOf(store, "grantors");
      for (const key of ["claim", "report"]) await claims.create(key, "old");
      await collectionOf(store, "usage").create("locked", "x");
      const release = await server.hold("SELECT FROM portico.entries WHERE key = 'usage/locked' FOR UPDATE");
      const change = collectionOf(store, "usage").replace("locked", "y");
      const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'portico'";
      await until(async () => (await server.query(waiting)).length === 1);
      t.equal(await claims.replace("claim", "renewed"), true);
      const held = await server.hold("SELECT FROM portico.entries WHERE key = 'grantors/claim' FOR UPDATE");
      const renewal = claims.replace("claim", "renewed again");
      await until(async () => (await server.query(waiting)).length === 2);
      t.equal(await claims.replace("report", "new", { durable: false }), true);
      await Promise.all([release(), held()]);
      t.same(await Promise.all([change, renewal]), [true, true]);
    },
  );

  t.test("notify other processes, but not the writer", async (t) => {
    const [one, two] = [await openOn(t, server), await openOn(t, server)];
    let [heard, own, others] = [0, 0, 0];
    const unfollow = two.follow("log", () => {
      heard += 1;
    });
    two.follow("usage", () => {
      others += 1;
    });
    one.follow("log", () => {
      own += 1;
    });
    // Each listener is called once when its connection is made.
    await until(() => heard > 0 && own > 0 && others > 0);
    const writes = {
      create: () => collectionOf(one, "log").create("hint", "x"),
      replace: () => collectionOf(one, "log").replace("hint", "y"),
      "replace without waiting": () => collectionOf(one, "log").replace("hint", "z", { durable: false }),
    };
    const before = own;
    for (const [name, write] of Object.entries(writes)) {
      const last = heard;
      t.equal(await write(), true);
      await until(() => heard > last);
      t.pass(name);
    }
    t.equal(own, before);
    t.equal(others, 1);
    unfollow();
    const last = heard;
    two.follow("log", () => {
      others += 1;
    });
    await collectionOf(one, "log").create("hint 2", "x");
    await until(() => others > 1);
    t.equal(heard, last, "no more once it has ended");
    await server.restart();
    const lost = others;
    await until(() => others > lost);
    await until(async () => {
      await collectionOf(one, "log")
        .replace("hint", `${others}`)
        .catch(() => undefined);
      return others > lost + 3;
    });
  });
});
