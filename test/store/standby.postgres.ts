/**
 * A store on Postgres with standbys: they have all acknowledged writes, and a server that was
 * replaced serves no reads.
 */

import t from "tap";
import { COLLECTIONS, collectionOf, writesTo } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { noPostgres, PASSWORD, type PostgresServer, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { errorOf, openOn, replicated } from "./open-postgres.js";

const NOT_KNOWN = /; it is not known whether the write happened$/;
const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

const both = (primary: number, standby: number): string =>
  `postgres://portico:${PASSWORD}@127.0.0.1:${primary},127.0.0.1:${standby}/portico`;

const { expect, create } = writesTo("log");

t.test("a write is not acknowledged while the synchronous standby is away", { skip: noPostgres }, async (t) => {
  const { primary, standby } = await replicated(t);
  const store = await openOn(t, primary, { timeoutMs: 1_000 });
  const [log, claims] = [collectionOf(store, "log"), collectionOf(store, "grantors")];
  await log.create("1", "x");
  await claims.create("claim", "1");
  standby.pause();

  t.test("at the deadline its outcome is unknown, and no read returns it", async (t) => {
    t.match((await errorOf(log.commit([expect(["1", "x"]), create(["2", "x"])])))?.message, NOT_KNOWN);
    t.equal(await log.get("2"), undefined);
  });
  t.test(
    "its outcome is unknown if the operator cancels the wait, and the server commits it with a warning",
    async (t) => {
      const write = errorOf(claims.replace("claim", "2"));
      await until(async () => (await primary.query(WAITING)).length === 2);
      await primary.query(`SELECT pg_cancel_backend(pid) FROM (${WAITING}) AS waiting`);
      t.match((await write)?.message, /cannot be used: it warned: cancel.*replication.*; it is not known whether/);
    },
  );
  t.test("a write that need not be durable is still made", async (t) => {
    t.equal(await claims.replace("claim", "3", { durable: false }), true);
    t.equal(await claims.get("claim"), "3");
  });
  t.test("the number of writes that wait for the standby is limited", async (t) => {
    const errors: (string | undefined)[] = [];
    // The store drops waiting writes, but the server keeps them. Each collection has one write in
    // progress.
    const collections = COLLECTIONS.map((name) => collectionOf(store, name));
    for (let round = 0; errors.length < 90 && !errors.at(-1)?.includes("earlier writes"); round++) {
      const writes = collections.map(async (each) => (await errorOf(each.create(`held ${round}`, "x")))?.message);
      errors.push(...(await Promise.all(writes)));
    }
    t.match(errors.at(-1), /2\d earlier writes still wait for a synchronous standby, which is away$/);
    t.ok((await primary.query(WAITING)).length < 25);
    t.equal(await log.get("1"), "x");
  });
  t.test("all writes succeed when the standby is back", async (t) => {
    standby.resume();
    await until(async () => (await errorOf(log.replace("1", "y"))) === undefined);
    t.equal(await log.get("2"), "x", "the first one had been committed");
  });
});

t.test("after a failover the store uses the new primary", { skip: noPostgres }, async (t) => {
  const { primary, standby } = await replicated(t);
  const log = collectionOf(await openOn(t, primary, { url: both(primary.port, standby.port) }), "log");
  const written: string[] = [];
  for (let key = 0; key < 20; key++) {
    await log.create(`${key}`, "x");
    written.push(`${key}`);
  }
  await primary.kill();
  t.match(
    (await errorOf(log.get("1")))?.message,
    /has no primary \(.*ECONNREFUSED.*; .*is a standby.*name the primary/,
  );
  await standby.promote();
  await until(async () => (await errorOf(log.replace("1", "y"))) === undefined);
  t.same(await log.keys(), written.sort(), "all that was acknowledged is there");
  await standby.kill();
  const refused = ({ port }: PostgresServer) => `127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`;
  const error = await errorOf(log.get("1"));
  t.match(error?.message, `has no primary (${refused(standby)}; ${refused(primary)})`, "each with its own reason");
});

t.test("a demoted primary serves no read once the new one has made a write", { skip: noPostgres }, async (t) => {
  const { primary, standby } = await replicated(t);
  // The address moves to the new primary, as virtual IP addresses and proxies do. Existing
  // connections stay with the old one.
  const proxy = await CuttingProxy.listen(t, primary.port);
  const url = primary.url("portico", { through: proxy.port });
  const log = collectionOf(await openOn(t, primary, { url, timeoutMs: 2_000 }), "log");
  await log.create("1", "old");
  t.same(await Promise.all([log.get("1"), log.get("1"), log.get("1")]), ["old", "old", "old"]);
  await standby.promote();
  await until(async () => (await standby.query("SELECT pg_is_in_recovery() AS waits"))[0]?.waits === false);
  proxy.target = standby.port;
  t.equal(await log.get("1"), "old", "this process does not know that another server is the primary");
  t.match((await errorOf(log.replace("1", "new")))?.message, NOT_KNOWN, "the demoted one acknowledges nothing");
  await until(async () => (await errorOf(log.replace("1", "new"))) === undefined);
  for (let read = 0; read < 20; read++) t.equal(await log.get("1"), "new");
  // It also serves no read if the address moves back.
  proxy.target = primary.port;
  proxy.cut();
  t.match((await errorOf(log.get("1")))?.message, /is of timeline 00000001: another server was promoted/);
});

t.test("the operator is warned if a failover or a crash could lose changes", { skip: noPostgres }, async (t) => {
  const primary = await startPostgres(t, { settings: { fsync: "on" } });
  const warnings = async (): Promise<string[]> => {
    const given: string[] = [];
    const store = await openStore(primary.url(), t.testdir(), { warn: (message) => given.push(message) });
    await store.close();
    return given;
  };
  t.same(await warnings(), []);
  const standby = await primary.standby();
  t.match(await warnings(), [
    /^store postgres:.*: 1 standbys are connected, and synchronous_standby_names is empty: a fail/,
  ]);
  await primary.set({ synchronous_standby_names: "*" });
  t.same(await warnings(), []);
  await t.rejects(openOn(t, standby), {
    message: /is a standby \(pg_is_in_recovery\); name the primary in PORTICO_STORE$/,
  });
  const careless = await startPostgres(t);
  const given: string[] = [];
  await openOn(t, careless, { warn: (message) => given.push(message) });
  t.match(given, [/fsync is off: a crash of the server's machine loses changes that were acknowledged\. Turn it on$/]);
});
