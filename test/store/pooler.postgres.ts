/**
 * A pooler (PgBouncer) between Portico and Postgres: session pooling works, transaction pooling is
 * refused at the start.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openServiceStore, openStore } from "../../src/store/open.js";
import { freePort, isOpen } from "../support/ports.js";
import { noPostgres, PASSWORD, type PostgresServer, startPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/temporary.js";
import { inTime, until } from "../support/until.js";

const isInstalled = spawnSync("pgbouncer", ["--version"]).status === 0;
const skip = noPostgres || (isInstalled ? false : "there is no pgbouncer here");
/** PgBouncer refuses to run as root. */
const USER = process.getuid?.() === 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];

/** Starts a pooler that ends with the test. Returns the URL of the database through it. */
async function pooled(t: Test, server: PostgresServer, mode: string): Promise<string> {
  const port = await freePort();
  const folder = temporaryFolder(t);
  const users = join(folder, "users.txt");
  writeFileSync(users, `"portico" "${PASSWORD}"\n`);
  const settings = [
    "[databases]",
    `portico = host=127.0.0.1 port=${server.port} dbname=portico`,
    "[pgbouncer]",
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${users}`,
    `pool_mode = ${mode}`,
  ];
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, `${settings.join("\n")}\n`);
  // The pooler runs as another user, so the files must be readable whatever the umask is.
  chmodSync(folder, 0o755);
  for (const each of [users, file]) chmodSync(each, 0o644);
  const child = spawn("setpriv", [...USER, "--pdeathsig=KILL", "pgbouncer", file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const output of [child.stdout, child.stderr]) output.setEncoding("utf8").on("data", (text) => (log += text));
  t.teardown(async () => {
    const ended = once(child, "exit");
    if (child.exitCode === null && child.kill("SIGKILL")) await inTime(ended, "the pooler ends");
  });
  const what = () => `the pooler listens; it logged ${log}`;
  await until(() => isOpen(port), { what });
  return server.url("portico", { through: port });
}

const REFUSED = {
  transaction: /^store postgres:.* cannot be used: .*Have it pool sessions \(PgBouncer: pool_mode = session\)/,
  statement: /^store postgres:.* cannot be used: transaction blocks not allowed in statement pooling mode$/,
};

t.test("a pooler", { skip }, async (t) => {
  const server = await startPostgres(t);

  t.test("in session mode serves two authorities, and passes on the notifications between them", async (t) => {
    const url = await pooled(t, server, "session");
    const [one, other] = [await openStore(url, ""), await openStore(url, "")];
    t.teardown(() => Promise.all([one.close(), other.close()]));
    t.equal(await collectionOf(one, "log").create("1", "a"), true);
    t.same(await collectionOf(other, "log").get("1"), "a");
    let told = 0;
    other.follow("log", () => told++);
    // The listener is also called when it begins to listen.
    await until(() => told > 0, { what: () => "the other one listens" });
    const before = told;
    await collectionOf(one, "log").create("2", "b");
    await until(() => told > before, { what: () => "the other one is told" });
    const writes = Array.from({ length: 40 }, (_, key) => collectionOf(one, "usage").create(`${key}`, "x"));
    t.same(new Set(await Promise.all(writes)), new Set([true]));
  });

  t.test("in session mode serves services", async (t) => {
    const store = await openServiceStore(await pooled(t, server, "session"), "");
    t.teardown(() => store.close());
    await store.commit([{ kind: "set", key: "a", value: "1", expires: undefined }]);
    t.match(await store.get(["a"]), [{ value: "1" }]);
  });

  for (const [mode, message] of Object.entries(REFUSED)) {
    t.test(`in ${mode} mode is refused at the start`, async (t) => {
      const url = await pooled(t, server, mode);
      for (const open of [openStore, openServiceStore]) {
        await t.rejects(
          open(url, "").then((store) => store.close()),
          { message },
        );
      }
    });
  }
});
