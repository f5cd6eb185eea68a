/**
 * Tests of the Postgres servers that other tests use: they are stopped, killed, paused, replicated
 * and cut off.
 */
import pg from "pg";
import t, { type Test } from "tap";
import { createAuthority } from "../http2/certificates.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { noPostgres, PASSWORD, type PostgresServer, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";

async function connect(t: Test, config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on("error", () => undefined);
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

const written = (server: PostgresServer) => server.query("SELECT count(*)::int AS rows FROM t");

t.test("a Postgres server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);

  t.test("requires a password on the network", async (t) => {
    const client = await connect(t, { connectionString: server.url() });
    t.same((await client.query("SELECT current_user::text")).rows, [{ current_user: "portico" }]);
    await t.rejects(connect(t, { connectionString: server.url().replace(PASSWORD, "wrong") }), { code: "28P01" });
  });

  t.test("still has committed rows after a restart or a kill", async (t) => {
    await server.query("CREATE TABLE t (key text)");
    for (const end of ["restart", "kill"] as const) {
      await server.query("INSERT INTO t VALUES ('x')");
      await server[end]();
      if (end === "kill") await server.start();
    }
    t.same(await written(server), [{ rows: 2 }]);
  });

  t.test("does not respond while it is paused, and continues afterwards", async (t) => {
    const client = await connect(t, { connectionString: server.url() });
    server.pause();
    let answered = false;
    const response = client.query("SELECT 1").then(() => {
      answered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.notOk(answered, "a moment later");
    server.resume();
    await response;
  });

  t.test("can be cut off by a proxy, and so can its responses", async (t) => {
    const proxy = await CuttingProxy.listen(t, server.port);
    const client = await connect(t, { connectionString: server.url("portico", { through: proxy.port }) });
    await client.query("CREATE TABLE mine (key text)");
    proxy.responses = "vanish";
    const response = client.query("INSERT INTO mine VALUES ('x')");
    response.catch(() => undefined);
    await until(async () => (await server.query("SELECT * FROM mine")).length > 0);
    proxy.cut();
    await t.rejects(response);
  });
});

t.test("a synchronous standby has all committed rows, and can take over", { skip: noPostgres }, async (t) => {
  const primary = await startPostgres(t);
  await primary.query("CREATE TABLE t (key text)");
  const standby = await primary.standby();
  await primary.set({ synchronous_standby_names: "*" });
  await primary.query("INSERT INTO t VALUES ('x')");
  await primary.kill();
  await standby.promote();
  await standby.query("INSERT INTO t VALUES ('y')");
  t.same(await written(standby), [{ rows: 2 }]);
});

t.test("a server with a certificate accepts only TLS connections", { skip: noPostgres }, async (t) => {
  const authority = createAuthority("the database's own");
  const server = await startPostgres(t, { certificate: authority.issue("localhost") });
  await t.rejects(connect(t, { connectionString: server.url() }), { code: "28000" });
  const config = { host: "localhost", port: server.port, user: "portico", password: PASSWORD, database: "portico" };
  const client = await connect(t, { ...config, ssl: { ca: authority.cert } });
  t.same((await client.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).rows, [{ ssl: true }]);
});
