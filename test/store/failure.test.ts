/**
 * A failure of the engine is an error, and never taken for an absent key. Acknowledged writes are
 * on disk. Reading a few entries does not read the others.
 */

import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t, { type Test } from "tap";
import { type Collection, collectionOf } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";

const OPERATIONS: Record<string, (log: Collection) => Promise<unknown>> = {
  get: (log) => log.get("1"),
  getMany: (log) => log.getMany(["1"]),
  after: (log) => log.after("", 1),
  create: (log) => log.create("2", "x"),
  replace: (log) => log.replace("1", "y"),
  deleteIf: (log) => log.deleteIf("1", "x"),
  delete: (log) => log.delete(["1"]),
  keys: (log) => log.keys(),
};

t.test("every operation on a failing engine rejects with StoreError", async (t) => {
  const folder = t.testdir();
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  const log = collectionOf(store, "log");
  await log.create("1", "x");
  const other = new KeyvSqlite(`sqlite://${join(folder, "portico.sqlite")}`);
  await other.query("DROP TABLE entries");
  await other.close();
  for (const [name, act] of Object.entries(OPERATIONS)) {
    await t.rejects(
      act(log),
      {
        name: "StoreError",
        message: /^store .+\/portico\.sqlite cannot be used: .*no such table: entries.*; restore it/,
      },
      name,
    );
  }
});

/**
 * The engines created until the test ends. Each behaves like a SQLite that was built not to wait
 * for the disk.
 */
function collectCareless(t: Test): Set<KeyvSqlite> {
  const engines = new Set<KeyvSqlite>();
  const { on } = KeyvSqlite.prototype;
  // The code that creates an engine first adds a listener for errors.
  KeyvSqlite.prototype.on = function (this: KeyvSqlite, ...listener: Parameters<typeof on>) {
    if (!engines.has(this)) {
      const { query } = this;
      const careless = query("PRAGMA synchronous = OFF");
      this.query = async (...statement) => {
        await careless;
        return query(...statement);
      };
    }
    engines.add(this);
    return on.apply(this, listener) as KeyvSqlite;
  };
  t.teardown(() => {
    KeyvSqlite.prototype.on = on;
  });
  return engines;
}

t.test("every connection waits for the disk, whatever SQLite's default is", async (t) => {
  const folder = t.testdir();
  await openStore("sqlite:", folder).then((store) => store.close());
  const engines = collectCareless(t);
  const store = await openStore("sqlite:", folder);
  t.teardown(() => store.close());
  t.equal(engines.size, 2, "one to read, one to write");
  for (const engine of engines) {
    t.same(await engine.query("PRAGMA synchronous"), [{ synchronous: 2 }], "FULL");
    t.same(await engine.query("PRAGMA journal_mode"), [{ journal_mode: "wal" }]);
  }
});

t.test("entries after a key are found by the index, without reading other entries", async (t) => {
  const engines = collectCareless(t);
  const store = await openStore("sqlite:", t.testdir());
  t.teardown(() => store.close());
  const plans: Promise<{ detail: string }[]>[] = [];
  for (const engine of engines) {
    const { query } = engine;
    engine.query = (statement, ...values) => {
      plans.push(query(`EXPLAIN QUERY PLAN ${statement}`, ...values));
      return query(statement, ...values);
    };
  }
  await collectionOf(store, "log").after("1", 1);
  const steps = (await Promise.all(plans)).flat();
  const ofEntries = steps.map(({ detail }) => detail).filter((detail) => detail.includes("entries"));
  t.ok(ofEntries.length > 0);
  for (const detail of ofEntries) t.match(detail, /^SEARCH entries USING INDEX \S+ \(key(=|>\? AND key<)\?\)$/);
});
