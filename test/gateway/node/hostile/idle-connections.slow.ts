// 10,000 idle connections cost little memory, and their neighbour still gets its responses.
// Connections beyond the limit are closed, and all idle ones are closed with the port. The memory
// and the neighbour's latency are printed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import t from "tap";
import { until } from "../../../support/until.js";
import { dial, open, response } from "../dial.js";
import { neighbour } from "./neighbour.js";

const IDLER = "test/gateway/node/hostile/idler.mjs";
const CONNECTIONS = 10_000;
const MIB = 1024 ** 2;
/** Maximum bytes of a connection in this process: many times what it uses. */
const MAX_EACH = 64 * 1024;
const NEIGHBOUR_MS = 500;

/** Files that a process may open here. Each side needs one for a connection. */
const files = Number(spawnSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).stdout) || Number.POSITIVE_INFINITY;
const isShort = files < CONNECTIONS + 500 ? `only ${files} files may be open here` : false;

t.test("10,000 idle connections", { skip: isShort }, async (t) => {
  // One connection for the neighbour. The next one is beyond the limit.
  const port = await open(t, () => response("hello"), {
    maxConnections: CONNECTIONS + 1,
    headerTime: 600_000,
    keepAlive: 600_000,
  });
  const before = process.memoryUsage().rss;
  const child = spawn(process.execPath, [IDLER, String(port.address.port), String(CONNECTIONS)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.teardown(() => child.kill());
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  const each = (process.memoryUsage().rss - before) / CONNECTIONS;

  const beside = neighbour(port);
  await new Promise((resolve) => setTimeout(resolve, NEIGHBOUR_MS));
  const beyond = await dial(port);
  t.equal(await beyond.rest(), "", "one beyond the limit is closed");
  const { calls, failures, latency } = await beside.stop();
  console.error(`note: ${t.name}: ${each.toFixed(0)} bytes each; neighbour: ${calls} calls, ${latency}`);
  t.same(failures, []);
  t.ok(calls > 0, "the neighbour is served");
  t.ok(each < MAX_EACH, `${each.toFixed(0)} bytes each, ${((each * CONNECTIONS) / MIB).toFixed(0)} MiB together`);
  const openConnections = async (): Promise<number> => {
    child.stdin.write("\n");
    return Number((await once(lines, "line"))[0]);
  };
  t.equal(await openConnections(), CONNECTIONS, "all of them are still open");

  await port.close(1_000);
  await until(async () => (await openConnections()) === 0);
  t.pass("they are closed with the port");
});
