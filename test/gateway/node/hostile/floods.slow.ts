// A client that pipelines without end is read no faster than it gets responses, uses no more memory
// than one connection may, and leaves the port usable for its neighbours. The memory and the
// neighbour's latency are printed.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { MemoryBudget } from "../../../../src/memory/memory-budget.js";
import { until } from "../../../support/until.js";
import { open, response } from "../dial.js";
import { neighbour } from "./neighbour.js";

const FLOODER = "test/gateway/node/hostile/flooder.mjs";
const DURATION_MS = 600;
const MIB = 1024 ** 2;
/** Bytes that the system buffers between two sockets before one of them must read. */
const MAX_SYSTEM = 16 * MIB;
/** Bytes that a connection may use in any case. */
const ALWAYS = 16 * 1024;
const REQUEST_LENGTH = "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n".length;

interface Flood {
  readonly title: string;
  readonly connections: number;
  readonly reads: boolean;
  readonly handler: RequestHandler;
}

/** @returns the bytes that were sent, and the number of requests that the handler got */
async function flood(t: Test, { title, connections, reads, handler }: Flood): Promise<{ sent: number; asked: number }> {
  const budget = new MemoryBudget({ limit: 64 * MIB });
  let reserved = 0;
  let asked = 0;
  const port = await open(
    t,
    (request) => {
      if (request.target === "/neighbour") return response("hello");
      reserved = Math.max(reserved, budget.reserved);
      asked++;
      return handler(request);
    },
    { budget },
  );
  const before = process.memoryUsage().rss;
  const beside = neighbour(port);
  const parameters = [port.address.port, DURATION_MS, connections, reads ? "read" : "ignore"].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, [FLOODER, ...parameters]);
  const { calls, failures, latency } = await beside.stop();
  const grown = (process.memoryUsage().rss - before) / MIB;
  const figures = `${asked} requests, rss +${grown.toFixed(0)} MiB, reserved ${(reserved / MIB).toFixed(1)} MiB`;
  console.error(`note: ${title}: ${figures}; neighbour: ${calls} calls, ${latency}`);
  t.same(failures, []);
  t.ok(calls > 0, "the neighbour is served");
  t.ok(reserved <= budget.limit / 2 + connections * ALWAYS, "one address holds at most half of the budget");
  t.ok(grown < 512, "the process grows by no more");
  await port.close(0);
  await until(() => budget.reserved === 0);
  return { sent: Number(stdout), asked };
}

t.test("requests whose responses are not read", async (t) => {
  const body = "x".repeat(10_000);
  const { asked } = await flood(t, { title: t.name, connections: 1, reads: false, handler: () => response(body) });
  t.ok(
    asked * body.length < 4 * MAX_SYSTEM,
    "not more requests are served than fit into the buffers of the system and the connection",
  );
});

t.test("requests that get no response", async (t) => {
  const handler: RequestHandler = () => new Promise(() => {});
  const { sent, asked } = await flood(t, { title: t.name, connections: 1, reads: true, handler });
  t.ok(asked < 10_000, "few are given to the handler at a time");
  t.ok(sent < MAX_SYSTEM + asked * REQUEST_LENGTH, "and no more are read");
});

t.test("requests whose responses are read", async (t) => {
  const { asked } = await flood(t, {
    title: t.name,
    connections: 1,
    reads: true,
    handler: async () => response("hello"),
  });
  t.ok(asked > 100);
});

t.test("twenty clients that read, and twenty that do not", async (t) => {
  const handler: RequestHandler = async () => response("hello");
  await Promise.all([true, false].map((reads) => flood(t, { title: t.name, connections: 20, reads, handler })));
});
