// A connection that is dead, such as after a laptop has slept, ends the request with an error: the
// gateway sends a heartbeat at least every 15 s.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { portico } from "../command-line.js";

t.test("a stream on which nothing arrives any more is given up", { timeout: 90_000 }, async (t) => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(":\n\n");
  }).listen(0, "127.0.0.1");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "feed.Follow" } };
  const env = { PORTICO_URL: `http://127.0.0.1:${port}` };
  const { stdout } = await portico(["mcp"], { stdin: `${JSON.stringify(call)}\n`, env });
  t.match(JSON.parse(stdout), { id: 1, error: { code: -32603, message: /nothing came for 45 s/ } });
});
