/**
 * When the Postgres server fails, hangs or is cut off, the store reports an error in time, and
 * recovers by itself.
 */

import t from "tap";
import { type Collection, collectionOf, writesTo } from "../../src/store/collection.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import { answerOf, errorOf, openOn } from "./open-postgres.js";

const { expect, create } = writesTo("log");
const READS: Record<string, (log: Collection) => Promise<unknown>> = {
  get: (log) => log.get("1"),
  getMany: (log) => log.getMany(["1"]),
  after: (log) => log.after("", 1),
  keys: (log) => log.keys(),
};
const WRITES: Record<string, (log: Collection) => Promise<unknown>> = {
  create: (log) => log.create("2", "x"),
  "create after another": (log) => log.commit([expect(["1", "x"]), create(["3", "x"])]),
  replace: (log) => log.replace("1", "x"),
  "replace without waiting": (log) => log.replace("1", "x", { durable: false }),
  delete: (log) => log.delete(["1"]),
  deleteIf: (log) => log.deleteIf("1", "x"),
};
const OPERATIONS = { ...READS, ...WRITES };
const NOT_KNOWN = /; it is not known whether the write happened$/;

t.test("a Postgres server in trouble", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const make = async () => server.url(await server.createDatabase());

  t.test("lost tables are an error, and not an absent key", async (t) => {
    const database = await server.createDatabase();
    const log = collectionOf(await openOn(t, server, { url: server.url(database) }), "log");
    await server.query("DROP TABLE portico.entries", database);
    for (const [name, act] of Object.entries(OPERATIONS)) {
      const message =
        /^store postgres:\/\/127\.0\.0\.1:\d+\/test_\d+ has lost its tables \(.*\); restore it from a backup$/;
      await t.rejects(act(log), { name: "StoreError", message }, name);
    }
  });

  t.test("operations on a server that hangs fail at the deadline, and succeed when it responds again", async (t) => {
    const log = collectionOf(await openOn(t, server, { url: await make(), timeoutMs: 1_000 }), "log");
    await log.create("1", "x");
    server.pause();
    const began = performance.now();
    const acts = Object.entries(OPERATIONS);
    const errors = await Promise.all(acts.map(([, act]) => errorOf(act(log))));
    t.ok(performance.now() - began < 10_000);
    for (const [index, [name]] of acts.entries()) {
      const message = `${errors[index]?.message}`;
      t.match(message, / did not respond within 1000 ms| gave no connection in time/, name);
      // A write that hangs before it could be committed was not made, but the client may not know
      // that yet.
      if (name in READS) t.notMatch(message, NOT_KNOWN);
    }
    server.resume();
    await until(async () => (await errorOf(log.get("1"))) === undefined);
    t.equal(await log.replace("1", "y").catch(() => log.replace("1", "y")), true);
  });

  t.test("the store uses a server again after a restart or a kill, without failed reads", async (t) => {
    const log = collectionOf(await openOn(t, server, { url: await make() }), "log");
    await log.create("1", "x");
    for (const end of ["restart", "kill"] as const) {
      await server[end]();
      if (end === "kill") {
        await t.rejects(log.get("1"), { message: /cannot be reached \(.*ECONNREFUSED.*\); start it, or name another/ });
        await t.rejects(log.create("2", "x"), { message: /cannot be reached/ });
        await server.start();
      }
      t.equal(await log.get("1"), "x", end);
      t.equal(await log.create(`after the ${end}`, "x"), true);
    }
  });

  t.test("writes of a locked row fail at the deadline, and other writes succeed", async (t) => {
    const database = await server.createDatabase();
    const log = collectionOf(await openOn(t, server, { url: server.url(database), timeoutMs: 1_000 }), "log");
    for (const key of ["1", "2"]) await answerOf(() => log.create(key, "x"));
    const release = await server.hold("SELECT FROM portico.entries WHERE key = 'log/1' FOR UPDATE", database);
    const late = /did not respond within 1000 ms; it is not known whether the write happened$/;
    // On a busy machine, the write may not reach the row in time.
    await until(async () => late.test(`${(await errorOf(log.replace("1", "y")))?.message}`));
    t.equal(await answerOf(() => log.get("1")), "x");
    t.equal(await answerOf(() => log.replace("2", "y")), true);
    // The server ends the write by itself, because no client waits for it any more.
    await until(async () => (await server.query("SELECT 1 FROM pg_locks WHERE NOT granted")).length === 0);
    await release();
    t.equal(await answerOf(() => log.get("1")), "x");
  });

  t.test("a read is repeated if the connection is cut before its response", async (t) => {
    const proxy = await CuttingProxy.listen(t, server.port);
    const url = server.url(await server.createDatabase(), { through: proxy.port });
    const log = collectionOf(await openOn(t, server, { url }), "log");
    await log.create("1", "x");
    await log.get("1");
    for (const read of Object.values(READS)) {
      const expected = await read(log);
      const before = proxy.vanished;
      proxy.responses = "vanish";
      const response = read(log);
      await until(() => proxy.vanished > before);
      proxy.responses = "pass";
      proxy.cut();
      t.same(await response, expected);
    }
  });
});
