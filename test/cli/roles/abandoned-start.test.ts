// When a start fails at its last part, all earlier parts are closed before it rejects.
// failed-start.slow.ts tests whole processes, which end even if something is still open.
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
const start = processOf("authority", (opening) => openAuthorityProcess(opening, {}));
const startWith = (settings: Record<string, string>) =>
  start(loadConfig(settings, {}), createLog("silent"), new AbortController().signal);

/**
 * The resources that keep this process alive: sockets, servers and timers. Handles that are being
 * closed and reads of files are left out, because each ends by itself.
 */
const resources = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => name !== "CloseReq" && name !== "FSReqCallback")
    .sort();

t.test("all parts are closed again if the port of the last one, the admin port, is in use", async (t) => {
  const data = t.testdir();
  const openFiles = (): string[] =>
    readdirSync(data, { recursive: true })
      .map(String)
      .filter((name) => /-(wal|shm)$/.test(name));
  const before = resources();
  // A first start would try the ports before it opens anything.
  const first = await startWith({ data, grpc: FREE, admin: FREE });
  t.ok(openFiles().length > 0, "an open store is seen by its files");
  await first.stop();
  await t.rejects(startWith({ data, grpc: FREE, admin: inUse }), {
    message: /in use; name another address in PORTICO_ADMIN/,
  });
  t.same(resources(), before, "no port and no timer is left");
  t.same(openFiles(), [], "the store is closed");
  const running = await startWith({ data, grpc: FREE, admin: FREE });
  await running.stop();
});
