// Every operation of a store that fails is counted, once; one that succeeds, or that refuses what
// it was asked, is not.
import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";
import { watchErrors } from "../../src/store/watched-errors.js";

t.test("failures are counted, and still reach who asked", async (t) => {
  const folder = t.testdir();
  let errors = 0;
  const opened = await openStore("sqlite:", folder);
  const store = watchErrors(opened, () => {
    errors++;
  });
  t.teardown(() => store.close());
  t.equal(store.name, opened.name);
  const log = collectionOf(store, "log");
  t.equal(await log.create("1", "x"), true);
  t.equal(await log.create("1", "y"), false);
  t.equal(await log.get("1"), "x");
  t.equal(errors, 0);

  const other = new KeyvSqlite(`sqlite://${join(folder, "portico.sqlite")}`);
  await other.query("DROP TABLE entries");
  await other.close();
  await t.rejects(log.get("1"), { name: "StoreError" });
  t.equal(errors, 1);
  await t.rejects(log.create("2", "x"), { name: "StoreError" });
  t.equal(errors, 2);
});
