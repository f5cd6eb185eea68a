// A server ends a connection without calls by GOAWAY after its idle time. These tests show what the
// channel does then.

import { connect as connectTcp, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { unary } from "../../src/rpc/client.js";
import type { Http2Channel } from "../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { RawService, rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { until } from "../support/until.js";
import { channelTo } from "./serve.js";

const IDLE = 50;

const ask = async (channel: Http2Channel): Promise<string> =>
  `${await unary(channel, RawService.one, Buffer.from("a"))}`;

/** A channel to a server with a short idle time, through a proxy that counts connections. */
async function open(t: Test): Promise<{ channel: Http2Channel; connections: () => number }> {
  const limits = { ...LIMITS, keepAlive: IDLE };
  const service = rawService({ one: (request) => request });
  const server = await serveHttp2(dispatcherOf([service]), { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => server.close(0));
  let connections = 0;
  const port = createServer((from: Socket) => {
    connections++;
    const to = connectTcp(server.address as { host: string; port: number });
    from
      .on("error", () => {})
      .pipe(to.on("error", () => {}))
      .pipe(from);
  });
  await new Promise<void>((resolve) => port.listen(0, "127.0.0.1", resolve));
  t.teardown(() => port.close());
  const address = port.address() as { port: number };
  return { channel: channelTo(t, { host: "127.0.0.1", port: address.port }), connections: () => connections };
}

for (const used of [false, true]) {
  t.test(
    `after an idle connection that was ${used ? "used" : "never used"} has ended, the next call opens a new one`,
    async (t) => {
      const { channel, connections } = await open(t);
      await until(() => connections() > 0);
      if (used) t.equal(await ask(channel), "a");
      for (let round = 1; round <= 6; round++) {
        await until(() => channel.state === "idle");
        const made = connections();
        await new Promise((resolve) => setTimeout(resolve, 4 * IDLE));
        t.equal(channel.state, "idle", "none is opened without a call");
        t.equal(connections(), made);
        if (!used) continue;
        t.equal(await ask(channel), "a");
        // On a busy computer the first may end before the call is sent; then there are more.
        t.ok(connections() > made, "one is opened for the next call");
      }
      t.equal(await ask(channel), "a");
    },
  );
}
