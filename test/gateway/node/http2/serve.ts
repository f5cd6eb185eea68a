/** A port that speaks HTTP/2 alone, with a handler of a test behind it. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Test } from "tap";
import type { Handler } from "../../../../gateway/http.js";
import type { ConnectionLimits } from "../../../../gateway/node/connection.js";
import { type Http2Connection, serveHttp2 } from "../../../../gateway/node/http2/connection.js";
import type { Address } from "../../../../src/address.js";
import { MemoryBudget } from "../../../../src/memory-budget.js";
import { config } from "../dial.js";

export interface Served {
  readonly address: Address;
  readonly connections: readonly Http2Connection[];
}

/** Ends with the test. */
export async function serve(
  t: Test,
  handler: Handler,
  { budget = new MemoryBudget(), ...limits }: Partial<ConnectionLimits> & { readonly budget?: MemoryBudget } = {},
): Promise<Served> {
  const connections: Http2Connection[] = [];
  const server = createServer({ noDelay: true, allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    const options = { handler, limits: { ...config, ...limits }, budget };
    connections.push(serveHttp2(socket, Buffer.alloc(0), options));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const check = setInterval(() => {
    for (const connection of connections) connection.checkTime();
  }, 20);
  t.teardown(() => {
    clearInterval(check);
    server.close();
    for (const connection of connections) connection.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { address: { host: "127.0.0.1", port }, connections };
}
