/**
 * The schema of a store on Postgres: created once by concurrent processes, and upgraded with its
 * entries.
 */

import pg from "pg";
import t, { type Test } from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { prepareSchema, type SchemaKind } from "../../src/store/postgres-schema.js";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { errorOf, openOn } from "./open-postgres.js";

const OLD: SchemaKind = {
  title: "a store for this test",
  mark: "test",
  defaultSchema: "portico",
  setting: "PORTICO_STORE",
  oldest: 2,
  formats: [["CREATE TABLE things (id integer)", "INSERT INTO things VALUES (1)"]],
  tables: { others: "(id integer)" },
};
const NEW: SchemaKind = {
  ...OLD,
  formats: [...OLD.formats, ["ALTER TABLE things ADD COLUMN name text", "UPDATE things SET name = 'one'"]],
  tables: { ...OLD.tables, added: "(id integer)" },
};

async function prepare(t: Test, server: PostgresServer, database: string, kind: SchemaKind): Promise<string> {
  const client = new pg.Client({ connectionString: server.url(database) });
  client.on("error", () => undefined);
  await client.connect();
  t.teardown(() => client.end());
  return prepareSchema(client, { kind, name: "x", schema: "portico", lost: undefined, keepsFormat: false });
}

t.test("a schema", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);

  t.test("is created once by processes that start at the same time", async (t) => {
    const database = await server.createDatabase();
    const stores = await Promise.all(Array.from({ length: 8 }, () => openOn(t, server, { url: server.url(database) })));
    await collectionOf(stores[0]!, "log").create("1", "x");
    for (const store of stores) t.equal(await collectionOf(store, "log").get("1"), "x");
    t.same(await server.query("SELECT count(*)::int AS rows FROM portico.format", database), [{ rows: 1 }]);
  });

  t.test("is upgraded once with its entries, and then refused by the earlier version", async (t) => {
    const database = await server.createDatabase();
    const id = await prepare(t, server, database, OLD);
    const ids = await Promise.all(Array.from({ length: 4 }, () => prepare(t, server, database, NEW)));
    t.same(new Set(ids), new Set([id]));
    t.same(await server.query("SELECT id, name FROM portico.things", database), [{ id: 1, name: "one" }]);
    t.same(await server.query("SELECT format FROM portico.format", database), [{ format: 3 }]);
    t.match((await errorOf(prepare(t, server, database, OLD)))?.message, /its format is 3, .* knows formats up to 2/);
  });

  t.test("is refused and not changed if its format is from before the first release", async (t) => {
    const database = await server.createDatabase();
    await prepare(t, server, database, { ...OLD, oldest: 1 });
    t.match(
      (await errorOf(prepare(t, server, database, NEW)))?.message,
      /^store x was written before Portico's first release: its format is 1, .* from 2 on; run the build that wrote it, or /,
    );
    t.same(await server.query("SELECT format FROM portico.format", database), [{ format: 1 }]);
    t.same(await server.query("SELECT * FROM portico.things", database), [{ id: 1 }]);
  });

  t.test("is not changed by an upgrade that fails", async (t) => {
    const database = await server.createDatabase();
    await prepare(t, server, database, OLD);
    const broken = { ...NEW, formats: [...NEW.formats, ["ALTER TABLE absent ADD COLUMN name text"]] };
    t.match((await errorOf(prepare(t, server, database, broken)))?.message, /absent/);
    t.same(await server.query("SELECT format FROM portico.format", database), [{ format: 2 }]);
    await prepare(t, server, database, NEW);
  });

  t.test("can be next to another one if the URL names it", async (t) => {
    const database = await server.createDatabase();
    // The second one is a word of SQL.
    const [one, two] = ["one", "order"].map((schema) => server.url(database, { query: `?schema=${schema}` }));
    await collectionOf(await openOn(t, server, { url: one ?? "" }), "log").create("1", "x");
    const store = await openOn(t, server, { url: two ?? "" });
    t.match(store.name, /\/test_\d+\?schema=order$/);
    t.equal(await collectionOf(store, "log").get("1"), undefined);
    t.ok((await store.size()) > 0);
    let isTold = false;
    store.follow("log", () => {
      isTold = true;
    });
    await until(() => isTold, { what: () => "it listens for hints" });
  });

  t.test("finds entries by its index, without reading other entries", async (t) => {
    const database = await server.createDatabase();
    const log = collectionOf(await openOn(t, server, { url: server.url(database) }), "log");
    const fill =
      "INSERT INTO portico.entries SELECT ('log/' || lpad(i::text, 16, '0'))::bytea, 'x', '' FROM generate_series(1, 50000) AS i";
    await server.query(fill, database);
    const READ = "SELECT idx_tup_read::int AS read FROM pg_stat_user_indexes WHERE indexrelname = 'entries_pkey'";
    await log.after(`${40_000}`.padStart(16, "0"), 10);
    await log.get(`${7}`.padStart(16, "0"));
    let read = 0;
    // Postgres updates the statistics some time after a read.
    await until(async () => {
      read = Number((await server.query(READ, database))[0]?.read);
      return read > 0;
    });
    t.ok(read < 100, `${read} entries of the index were read`);
    const scans = "SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE relname = 'entries'";
    t.same(await server.query(scans, database), [{ read: 0 }]);
  });
});
