// A start that fails at its last part has closed all the parts before when it rejects. failed-start.slow.ts looks at processes, which
// end whatever may still be open.
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import t from "tap";
import { openAuthorityProcess } from "../../../cli/roles/authority.js";
import { processOf } from "../../../cli/roles/start.js";
import { loadConfig } from "../../../src/config/config.js";
import { createLog } from "../../../src/log.js";

const taken = createServer().listen(0, "127.0.0.1");
await once(taken, "listening");
t.teardown(() => taken.close());
const inUse = `127.0.0.1:${(taken.address() as { port: number }).port}`;

const FREE = "127.0.0.1:0";
const start = processOf((opening) => openAuthorityProcess(opening, {}));
const startWith = (settings: Record<string, string>) =>
  start(loadConfig(settings, {}), createLog("silent"), new AbortController().signal);

/** What keeps this process alive: sockets, servers and timers. What is being closed is not counted. */
const resources = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => name !== "CloseReq")
    .sort();

t.test("all parts are closed again where the admin port, the last, is in use", async (t) => {
  const data = t.testdir();
  const openFiles = (): string[] =>
    readdirSync(data, { recursive: true })
      .map(String)
      .filter((name) => /-(wal|shm)$/.test(name));
  const before = resources();
  await t.rejects(startWith({ data, grpc: FREE, admin: inUse }), {
    message: /in use; name another address in PORTICO_ADMIN/,
  });
  t.same(resources(), before, "no port and no timer is left");
  t.same(openFiles(), [], "the store is closed");
  const running = await startWith({ data, grpc: FREE, admin: FREE });
  t.ok(openFiles().length > 0, "an open store is seen by its files");
  await running.stop();
});
