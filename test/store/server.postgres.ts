/** What the tests of Postgres rest on: real servers that are stopped, killed, held up, replicated and cut off. */
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

t.test("a server of Postgres", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);

  t.test("asks the network for a password", async (t) => {
    const client = await connect(t, { connectionString: server.url() });
    t.same((await client.query("SELECT current_user::text")).rows, [{ current_user: "portico" }]);
    await t.rejects(connect(t, { connectionString: server.url().replace(PASSWORD, "wrong") }), { code: "28P01" });
  });

  t.test("keeps what was committed when it is restarted, or killed", async (t) => {
    await server.query("CREATE TABLE t (key text)");
    for (const end of ["restart", "kill"] as const) {
      await server.query("INSERT INTO t VALUES ('x')");
      await server[end]();
      if (end === "kill") await server.start();
    }
    t.same(await written(server), [{ rows: 2 }]);
  });

  t.test("answers nothing while it is held up, and goes on after", async (t) => {
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

  t.test("is cut off by a proxy, and its answers are", async (t) => {
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

t.test("a standby has what was committed once it is synchronous, and takes over", { skip: noPostgres }, async (t) => {
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

t.test("a server with a certificate takes TLS connections alone", { skip: noPostgres }, async (t) => {
  const authority = createAuthority("the database's own");
  const server = await startPostgres(t, { certificate: authority.issue("localhost") });
  await t.rejects(connect(t, { connectionString: server.url() }), { code: "28000" });
  const config = { host: "localhost", port: server.port, user: "portico", password: PASSWORD, database: "portico" };
  const client = await connect(t, { ...config, ssl: { ca: authority.cert } });
  t.same((await client.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).rows, [{ ssl: true }]);
});
