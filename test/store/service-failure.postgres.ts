/** The services' store on Postgres while servers, connections, clocks and other processes fail. */

import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { openServiceStore } from "../../src/store/open.js";
import type { KeyValueStore, StoredWrite } from "../../src/store/store.js";
import { bundleInto } from "../support/bundle.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { FULL } from "../support/full.js";
import { noPostgres, PASSWORD, type PostgresServer, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { checkWritten, interruptedWriter } from "./interrupted-service-writer.js";
import { errorOf } from "./open-postgres.js";

const ROUNDS = FULL ? 40 : 1;
const NOT_KNOWN = /; it is not known whether the write happened$/;

const set = (key: string, value = "1", expires?: number): StoredWrite => ({ kind: "set", key, value, expires });
const add = (key: string): StoredWrite => ({
  kind: "increment",
  key,
  by: 1,
  min: 0,
  max: Number.MAX_SAFE_INTEGER,
  expires: undefined,
});
const value = async (store: KeyValueStore, key: string) => (await store.get([key]))[0]?.value;

t.test("the services' store on Postgres", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { fsync: "on" } });
  let schemas = 0;
  const newSchema = () => `services_${schemas++}`;
  const open = async (t: Test, schema = newSchema(), options: { timeoutMs?: number; through?: number } = {}) => {
    const { through = server.port, ...rest } = options;
    const url = server.url("portico", { through, query: `?schema=${schema}` });
    const store = await openServiceStore(url, "", rest);
    t.teardown(() => store.close());
    return store;
  };

  t.test("commits on the same keys in any order end without a deadlock", async (t) => {
    const schema = newSchema();
    const stores = await Promise.all(Array.from({ length: 4 }, () => open(t, schema)));
    const keys = Array.from({ length: 12 }, (_, key) => `key ${key}`);
    const orders = [keys, keys.toReversed(), [...keys.slice(6), ...keys.slice(0, 6)], keys.toReversed()];
    for (let round = 0; round < 10; round++) {
      await Promise.all(stores.map((store, index) => store.commit(orders[index]!.map((key) => add(key)))));
    }
    for (const key of keys) t.equal(await value(stores[0]!, key), "40");
    t.notMatch(server.log, /deadlock/);
  });

  t.test("a commit whose connection is cut during COMMIT has an unknown outcome", async (t) => {
    const proxy = await CuttingProxy.listen(t, server.port);
    const schema = newSchema();
    const store = await open(t, schema, { through: proxy.port });
    await store.commit([set("a")]);
    const isCommitting = await slowCommits(server, schema);
    const outcome = errorOf(store.commit([set("a", "2"), set("b", "2")]));
    await until(isCommitting);
    proxy.cut();
    t.match((await outcome)?.message, NOT_KNOWN);
    await until(async () => !(await isCommitting()));
    // A slow server may notice the lost connection first. Then the commit was not made.
    const [a, b] = [await value(store, "a"), await value(store, "b")];
    t.same([a, b], a === "1" ? ["1", undefined] : ["2", "2"], "but it was made whole or not at all");
  });

  t.test(
    "a commit that times out or is cut off before COMMIT is not made, and the outcome of one that is cut off is known",
    async (t) => {
      const proxy = await CuttingProxy.listen(t, server.port);
      const schema = newSchema();
      const store = await open(t, schema, { through: proxy.port, timeoutMs: 1_500 });
      await store.commit([set("a")]);
      const blocked = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'portico'";
      for (const end of ["given up", "cut off"]) {
        const release = await server.hold(`LOCK TABLE ${schema}.entries IN ACCESS EXCLUSIVE MODE`);
        const outcome = errorOf(store.commit([set("a", end)]));
        await until(async () => (await server.query(blocked)).length > 0);
        if (end === "cut off") proxy.cut();
        const error = await outcome;
        t.equal(error?.name, "StoreError");
        if (end === "cut off") t.notMatch(error?.message, NOT_KNOWN);
        await release();
        await until(async () => (await errorOf(store.commit([add("n")]))) === undefined);
        t.equal(await value(store, "a"), "1", end);
      }
    },
  );

  t.test("a process that hangs blocks its keys for a few seconds only", async (t) => {
    const schema = newSchema();
    const store = await open(t, schema);
    const program = await bundleInto(t.testdir(), "test/store/service-writer.ts");
    const url = server.url("portico", { query: `?schema=${schema}` });
    const writer = spawn(process.execPath, [program, url], { stdio: ["ignore", "pipe", "ignore"] });
    t.teardown(() => writer.kill("SIGKILL"));
    writer.stdout.resume();
    await until(async () => Number(await value(store, "total")) > 10);
    const held = `SELECT FROM pg_stat_activity JOIN pg_locks USING (pid)
      WHERE state = 'idle in transaction' AND locktype = 'advisory' AND granted`;
    await until(async () => {
      writer.kill("SIGSTOP");
      await sleep(50);
      if ((await server.query(held)).length > 0) return true;
      writer.kill("SIGCONT");
      await sleep(Math.random() * 20);
      return false;
    });
    t.match(await store.commit([add("total")]), { committed: true });
    t.match(server.log, /terminating connection due to idle-in-transaction timeout/);
  });

  t.test("an entry expires at the right time even if a machine's clock is wrong", async (t) => {
    const store = await open(t);
    const now = Date.now;
    t.teardown(() => {
      Date.now = now;
    });
    const HOUR = 3_600_000;
    for (const wrong of [-HOUR, HOUR]) {
      Date.now = () => now() + wrong;
      await store.commit([set("short", "x", Date.now() + 60_000), set("long", "x", Date.now() + 2 * HOUR)]);
      const [mine] = await store.get(["short"]);
      t.ok(Math.abs((mine?.expires ?? 0) - (Date.now() + 60_000)) < 20_000, "as this machine counts");
      Date.now = now;
      const [short, long] = await store.get(["short", "long"]);
      t.ok(Math.abs((short?.expires ?? 0) - (now() + 60_000)) < 20_000, "as others count");
      t.ok(Math.abs((long?.expires ?? 0) - (now() + 2 * HOUR)) < 20_000);
    }
  });

  t.test("a sweep does not wait for locked entries", async (t) => {
    const schema = newSchema();
    const store = await open(t, schema, { timeoutMs: 5_000 });
    await store.commit([set("locked", "x", 1), set("expired", "x", 1)]);
    const release = await server.hold(`SELECT FROM ${schema}.entries WHERE key = 'locked' FOR UPDATE`);
    await store.sweep();
    t.same(await server.query(`SELECT convert_from(key, 'UTF8') AS key FROM ${schema}.entries`), [{ key: "locked" }]);
    await release();
    await store.sweep();
    t.same(await server.query(`SELECT FROM ${schema}.entries`), []);
  });

  t.test("a schema of the authority is refused, and the role of services cannot read it", async (t) => {
    await server.query(`CREATE ROLE services LOGIN PASSWORD '${PASSWORD}'; CREATE SCHEMA apart AUTHORIZATION services;
      CREATE SCHEMA secret AUTHORIZATION portico; CREATE TABLE secret.format (mark text)`);
    const url = (schema: string) =>
      server.url("portico", { query: `?schema=${schema}` }).replace("//portico:", "//services:");
    const store = await openServiceStore(url("apart"), "");
    t.teardown(() => store.close());
    await store.commit([set("a")]);
    t.match((await errorOf(openServiceStore(url("secret"), "")))?.message, /may not be read and written/);
    await server.query("UPDATE apart.format SET mark = 'authority'");
    t.match((await errorOf(openServiceStore(url("apart"), "")))?.message, /is not a store of Portico's services/);
  });

  t.test("operations on a server that hangs fail at the timeout, and succeed when it responds again", async (t) => {
    const store = await open(t, newSchema(), { timeoutMs: 1_000 });
    await store.commit([set("a")]);
    server.pause();
    const errors = await Promise.all([errorOf(store.get(["a"])), errorOf(store.commit([set("a", "2")]))]);
    for (const error of errors) t.match(error?.message, /did not respond within 1000 ms|gave no connection in time/);
    server.resume();
    await until(async () => (await errorOf(store.commit([set("a", "3")]))) === undefined);
    t.equal(await value(store, "a"), "3");
  });

  t.test(`acknowledged commits survive kill -9 of the writer and of the server, ${ROUNDS} times`, async (t) => {
    const schema = newSchema();
    const store = await open(t, schema);
    const program = await bundleInto(t.testdir(), "test/store/service-writer.ts");
    const url = server.url("portico", { query: `?schema=${schema}` });
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      acknowledged.push(...(await interruptedWriter(program, [url, `${2 * round}000000`])));
      acknowledged.push(...(await interruptedWriter(program, [url, `${2 * round + 1}000000`], () => server.kill())));
      await server.start();
      await until(async () => (await errorOf(store.get(["total"]))) === undefined);
      await checkWritten(t, store, acknowledged);
    }
    t.ok(acknowledged.length > ROUNDS, `${acknowledged.length} commits were acknowledged`);
  });
});

/**
 * Makes every COMMIT in a schema take some time.
 * @returns a function that checks whether a COMMIT is running
 */
async function slowCommits(server: PostgresServer, schema: string): Promise<() => Promise<boolean>> {
  await server.query(`CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.4); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON ${schema}.entries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.key = 'a') EXECUTE FUNCTION ${schema}.wait();
    GRANT EXECUTE ON FUNCTION ${schema}.wait() TO portico`);
  const committing = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  return async () => (await server.query(committing)).length > 0;
}
