/**
 * A database that cannot hold the store safely stops the start. The error has a reason, and not the
 * password.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";
import { createAuthority } from "../http2/certificates.js";
import { freePort } from "../support/ports.js";
import { noPostgres, PASSWORD, startPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";
import { errorOf, openOn } from "./open-postgres.js";

t.test("refuses a database that is", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const nobody = await freePort();
  const databases: Record<string, [prepare: string[], message: RegExp, reason?: string]> = {
    "of another program": [
      ["CREATE SCHEMA portico", "CREATE TABLE portico.orders (id int)"],
      /: the schema portico is not a store of Portico$/,
    ],
    "of another kind of Portico's own": [
      ["CREATE SCHEMA portico AUTHORIZATION portico", "CREATE TABLE portico.format (mark text, format int, id uuid)"],
      /(?:may not be read and written|is not a store of Portico)/,
    ],
    "read-only": [
      ["ALTER ROLE portico IN DATABASE $ SET default_transaction_read_only = on"],
      /is read-only \(default_transaction_read_only\); name the primary in PORTICO_STORE$/,
      "read_only",
    ],
    "closed to the role": [
      ["REVOKE CREATE ON DATABASE $ FROM portico", "ALTER DATABASE $ OWNER TO postgres"],
      /may not be read and written \(permission denied .*\); give the role the right to$/,
    ],
  };
  for (const [what, [statements, message, reason]] of Object.entries(databases)) {
    t.test(what, async (t) => {
      const database = await server.createDatabase();
      for (const each of statements) await server.query(each.replaceAll("$", database), database);
      const error = await errorOf(openOn(t, server, { url: server.url(database) }));
      t.match(error, { name: "StoreError", message, reason });
      t.notMatch(error?.message, PASSWORD);
    });
  }

  const urls: Record<string, [url: string, message: RegExp]> = {
    absent: [
      server.url("absent"),
      /cannot be used: database "absent" does not exist; create the database, owned by the role$/,
    ],
    "asked for with a wrong password": [
      server.url().replace(PASSWORD, "not-the-secret"),
      /refuses the role \(password authentication failed for user "portico"\); check the role, its password/,
    ],
    "asked for without a password": [
      server.url().replace(`:${PASSWORD}`, ""),
      /asks for a password, and there is none; set PGPASSWORD, or write it into ~\/\.pgpass$/,
    ],
    "on no server": [server.url("portico", { through: nobody }), /cannot be reached \(.*ECONNREFUSED/],
  };
  for (const [what, [url, message]] of Object.entries(urls)) {
    t.test(what, async (t) => {
      const error = await errorOf(openOn(t, server, { url }));
      t.match(error, { name: "StoreError", message });
      t.notMatch(error?.message, /secret/);
    });
  }

  t.test("of a newer format, or upgraded to one while it is used", async (t) => {
    const database = await server.createDatabase();
    const store = await openOn(t, server, { url: server.url(database) });
    const log = collectionOf(store, "log");
    await log.create("1", "x");
    await server.query("UPDATE portico.format SET format = 7", database);
    t.match(
      (await errorOf(openOn(t, server, { url: server.url(database) })))?.message,
      /was written by a newer Portico: its format is 7/,
    );
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico'");
    t.match((await errorOf(log.get("1")))?.message, /a newer Portico has upgraded it; run that version$/);
  });

  t.test("of an older format, for a reader that upgrades nothing", async (t) => {
    const database = await server.createDatabase();
    await (await openStore(server.url(database), t.testdir())).close();
    await server.query("DROP TABLE portico.installation", database);
    const error = await errorOf(openStore(server.url(database), t.testdir(), { mustExist: true, keepsFormat: true }));
    t.match(error, { name: "StoreError", message: /has an older format: a start of this version upgrades it$/ });
    const tables = await server.query("SELECT FROM pg_tables WHERE tablename = 'installation'", database);
    t.same(tables, [], "it is left as it is");
  });

  t.test("not the one from the start of the process", async (t) => {
    const database = await server.createDatabase();
    const log = collectionOf(await openOn(t, server, { url: server.url(database) }), "log");
    await log.create("1", "x");
    await server.query(`DROP DATABASE ${database} WITH (FORCE)`);
    t.match((await errorOf(log.get("1")))?.message, /database .* does not exist/);
    await server.query(`CREATE DATABASE ${database} OWNER portico`);
    t.match((await errorOf(log.get("1")))?.message, /has lost its tables/);
    await openOn(t, server, { url: server.url(database) });
    t.match((await errorOf(log.get("1")))?.message, /it is another store than the one that this process started with$/);
  });

  t.test("empty, where the data folder belongs to an installation", async (t) => {
    const database = await server.createDatabase();
    const folder = t.testdir({ "store-location": "postgres://elsewhere/portico\n" });
    const error = await errorOf(openOn(t, server, { url: server.url(database), folder }));
    t.match(
      error?.message,
      /has no schema portico, and so holds no store, but the data folder .* belongs to an installation in postgres:\/\/elsewhere/,
    );
    t.same(await server.query("SELECT FROM pg_namespace WHERE nspname = 'portico'", database), [], "nothing was made");
  });
});

t.test("a server's certificate and name are verified", { skip: noPostgres }, async (t) => {
  const authority = createAuthority("the database's own");
  const settings = { listen_addresses: "127.0.0.1,127.0.0.2" };
  const server = await startPostgres(t, { certificate: authority.issue("localhost"), settings });
  const file = join(t.testdir(), "ca.pem");
  writeFileSync(file, authority.cert);
  const url = (host: string, query: string) =>
    `postgres://portico:${PASSWORD}@${host}:${server.port}/portico?sslmode=${query}`;
  const store = await openOn(t, server, { url: url("localhost", `verify-full&sslrootcert=${file}`) });
  t.equal(await collectionOf(store, "log").create("1", "x"), true);
  const TLS =
    "SELECT bool_and(ssl) AS all FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'portico'";
  t.same(await server.query(TLS), [{ all: true }]);
  const refused: Record<string, [url: string, message: RegExp]> = {
    "not signed by a known authority": [url("localhost", "verify-full"), /certificate/],
    "of another name": [url("127.0.0.2", `verify-full&sslrootcert=${file}`), /does not match certificate|altnames/],
    "not asked for": [url("localhost", "disable"), /refuses the role \(no pg_hba.conf entry .* no encryption/],
    "of an authority that cannot be read": [
      url("localhost", "verify-full&sslrootcert=/absent"),
      /sslrootcert cannot be read \(ENOENT/,
    ],
  };
  for (const [what, [url, message]] of Object.entries(refused)) {
    const error = await errorOf(openStore(url, temporaryFolder(t)));
    t.match(error, { name: "StoreError", message }, what);
  }
});

t.test(
  "a role that may not ask for standbys is refused, and leaves no connection behind",
  { skip: noPostgres },
  async (t) => {
    const server = await startPostgres(t);
    const store = await openOn(t, server);
    await server.query("REVOKE SELECT ON pg_stat_replication FROM PUBLIC");
    const denied =
      /may not be read and written \(permission denied for view pg_stat_replication\); give the role the right to$/;
    t.match(await errorOf(openOn(t, server)), { name: "StoreError", message: denied });
    // This opens a connection again and again.
    store.follow("log", () => undefined);
    await until(() => server.log.split("permission denied for view").length > 5);
    const [row] = await server.query(
      "SELECT count(*)::int AS open FROM pg_stat_activity WHERE application_name = 'portico'",
    );
    t.ok(Number(row?.open) < 2, `${row?.open} connections are open`);
  },
);
