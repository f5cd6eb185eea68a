// A server leaves connections without calls (GOAWAY after its idle time); what the channel to it does then.

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

/** A channel to a server with a short idle time, through a port that counts connections. */
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
    `a connection that was ${used ? "used" : "never used"} and is let go: the next call makes a new one`,
    async (t) => {
      const { channel, connections } = await open(t);
      await until(() => connections() > 0);
      if (used) t.equal(await ask(channel), "a");
      for (let round = 1; round <= 6; round++) {
        await until(() => channel.state === "idle");
        const made = connections();
        await new Promise((resolve) => setTimeout(resolve, 4 * IDLE));
        t.equal(channel.state, "idle", "none is made while nobody calls");
        t.equal(connections(), made);
        if (!used) continue;
        t.equal(await ask(channel), "a");
        // More than one where a busy machine lets the first go before the call is sent.
        t.ok(connections() > made, "one is made for the next call");
      }
      t.equal(await ask(channel), "a");
    },
  );
}
