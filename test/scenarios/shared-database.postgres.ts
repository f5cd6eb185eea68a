// Portico on Postgres: the first day, the first start of three servers at the same time, and a
// database that is gone.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { formatAddress } from "../../src/address/address.js";
import { copyStore } from "../../src/store/copy.js";
import { fillStore, openStore } from "../../src/store/open.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { createLibrary } from "../gateway/dialects/http-rule/library.js";
import { dispatcherOf, listen } from "../rpc/serve.js";
import { noPostgres, PASSWORD, startPostgres } from "../support/postgres.js";
import { administrator, answered, call, type Portico, refused, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";
import { replayInOneProcess } from "./one-process.js";

t.test("the first day of an administrator, on Postgres", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const prepare = async (data: string): Promise<void> => {
    const prepared = await openStore("sqlite:", data);
    const fill = async (store: KeyValueStore) =>
      void (await copyStore(prepared, store, { kind: "authority", asCopy: false }));
    await fillStore("authority", server.url(), "", { fill, warn: () => undefined });
    await prepared.close();
  };
  await replayInOneProcess(t, { transcript: "first-day.txt", prepare, env: { PORTICO_STORE: server.url() } });
});

t.test("three servers that start at the same time on an empty database", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const folders = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)];
  const startOn = (data: string, url = server.url()): Promise<Portico> =>
    start(["server"], { PORTICO_DATA: data, PORTICO_STORE: url, PORTICO_OWN_SERVICES: "helloworld" });
  let running = await Promise.all(folders.map((data) => startOn(data)));
  t.teardown(() => Promise.all(running.map((portico) => portico.stop("SIGKILL"))));
  const first = running.findIndex((portico) => portico.output().includes("Log in as admin with this password"));
  const stopAll = () => Promise.all(running.map((portico) => portico.stop()));

  t.test("set up one installation, and print one password", async (t) => {
    t.equal(running.filter((portico) => portico.output().includes("Log in as admin with this password")).length, 1);
    const log = (
      await server.query("SELECT count(*)::int AS entries FROM portico.entries WHERE key = 'log/0000000000000001'")
    )[0];
    t.same(log, { entries: 1 });
    t.same(
      folders.map((data) => existsSync(join(data, "admin-password"))),
      folders.map((_, index) => index === first),
    );
  });
  t.test("see each other's changes", async (t) => {
    const headers = await administrator(running[first]!.address("HTTP"), folders[first]!);
    const deleted = await call(`${running[first]!.address("HTTP")}/v1/auth/Rules/Delete`, { id: "default" }, headers);
    t.equal(deleted.status, 200, JSON.stringify(deleted.body));
    for (const portico of running) {
      const greeting = await call(`${portico.address("HTTP")}/helloworld/call`, { name: "Ada" });
      t.equal(greeting.status, 401, JSON.stringify(greeting.body));
    }
    const counts = async () => {
      const { body } = await call(`${running[0]!.address("HTTP")}/v1/registry/List`, {}, headers);
      const { services = [] } = body as { services?: { name: string; instances: number }[] };
      return services.map(({ name, instances }) => `${name} ${instances}`);
    };
    let listed: string[] = [];
    const isSo = async () => {
      listed = await counts();
      return listed.includes("auth 3") && listed.includes("registry 3");
    };
    await until(isSo, { what: () => `the list of services counts three authorities: ${listed.join(", ")}` });
  });
  t.test("call a service that one of them added, until another one removes it", async (t) => {
    const library = createLibrary();
    const grpc = await listen(t, dispatcherOf([library]));
    const [adding, removing] = [running[first]!, running[(first + 1) % 3]!].map((portico) => portico.address("HTTP"));
    const headers = await administrator(adding!, folders[first]!);
    const descriptors = Buffer.from(library.descriptors).toString("base64");
    const service = { name: "library", targets: [{ address: formatAddress(grpc.address) }], descriptors };
    const added = await call(`${adding}/v1/registry/Services/Put`, { service, create: true }, headers);
    t.equal(added.status, 200, JSON.stringify(added.body));
    const rule = { id: "library", scope: "<public>", access: "GRANTED", resource: "service:library:*" };
    t.equal((await call(`${removing}/v1/auth/Rules/Create`, { rule }, headers)).status, 200);
    const each = async (status: number) => {
      for (const portico of running)
        await answered(() => call(`${portico.address("HTTP")}/lib/all`, { name: "a" }), status);
    };
    await each(200);
    const removed = await call(`${removing}/v1/registry/Services/Delete`, { name: "library" }, headers);
    t.equal(removed.status, 200, JSON.stringify(removed.body));
    await each(404);
  });
  t.test("find their data after a restart", async (t) => {
    t.same(await stopAll(), [0, 0, 0]);
    running = await Promise.all(folders.map((data) => startOn(data)));
    for (const portico of running) {
      t.notMatch(portico.output(), "Log in as admin with this password");
      t.equal((await call(`${portico.address("HTTP")}/helloworld/call`, { name: "Ada" })).status, 401);
    }
  });
  t.test("refuse to start on another database, or on a new one", async (t) => {
    await stopAll();
    const other = server.url(await server.createDatabase());
    for (const data of folders) {
      const { code, output } = await refused(["server"], { PORTICO_DATA: data, PORTICO_STORE: other });
      t.equal(code, 1);
      t.match(
        output,
        /has no schema portico, and so holds no store, but the data folder .* belongs to an installation in postgres:\/\/127/,
      );
      t.notMatch(output, PASSWORD);
    }
  });
  t.test("never print or store the database's password", async (t) => {
    for (const portico of running) t.notMatch(portico.output() + portico.errors(), PASSWORD);
    for (const data of folders) t.notMatch(readFileSync(join(data, "store-location"), "utf8"), PASSWORD);
  });
});
