// How a channel finds its server, loses it, and finds it again.

import { createServer } from "node:net";
import t, { type Test } from "tap";
import { Code, StatusError } from "../../../src/errors.js";
import { Balancer } from "../../../src/rpc/balancer.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { unary } from "../../../src/rpc/client.js";
import type { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { freePort } from "../../support/ports.js";
import { RawService, rawService, statusOf } from "../raw-service.js";
import { dispatcherOf, LIMITS } from "../serve.js";

const echo = rawService({ one: (request) => request });
const ask = async (channel: Channel): Promise<string> => `${await unary(channel, RawService.one, Buffer.from("a"))}`;

/** Repeats a check until it succeeds. */
async function eventually(t: Test, check: () => boolean): Promise<void> {
  const until = Date.now() + 30_000;
  while (!check() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
  t.ok(check());
}

/** Listens on the port, and closes each connection at once. Returns a function that counts them. */
async function countConnections(t: Test, port: number): Promise<() => number> {
  let connections = 0;
  const listener = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(port, "127.0.0.1");
  t.teardown(() => listener.close());
  await new Promise((resolve) => listener.once("listening", resolve));
  return () => connections;
}

const GONE = { code: Code.UNAVAILABLE, message: "the service cannot be reached", neverSent: true };

t.test("no server: the call was never sent, and the error contains no address", async (t) => {
  const channel = channelTo(t, { host: "127.0.0.1", port: await freePort() });
  t.equal(channel.state, "connecting");
  t.match(await statusOf(channel), GONE);
  t.equal(channel.state, "broken");
  t.match(await statusOf(channel), GONE, "at once, during the pause between two attempts");
});

t.test("a host name that does not resolve: the call was never sent", async (t) => {
  t.match(await statusOf(channelTo(t, { host: "does-not-exist.invalid", port: 1 })), GONE);
});

t.test("a server that speaks another protocol: the call was never sent", async (t) => {
  const listener = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  }).listen(0, "127.0.0.1");
  t.teardown(() => listener.close());
  await new Promise((resolve) => listener.once("listening", resolve));
  t.match(
    await statusOf(channelTo(t, { host: "127.0.0.1", port: (listener.address() as { port: number }).port })),
    GONE,
  );
});

t.test("the channel pauses between attempts when a server accepts and closes connections", async (t) => {
  const port = await freePort();
  const connections = await countConnections(t, port);
  channelTo(t, { host: "127.0.0.1", port });
  const began = performance.now();
  await eventually(t, () => connections() >= 2);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const ms = performance.now() - began;
  t.ok(connections() <= 3 + ms / 100, `${connections()} connections in ${ms.toFixed(0)} ms`);
});

t.test("the channel connects to a server that starts later", async (t) => {
  const port = await freePort();
  const channel = channelTo(t, { host: "127.0.0.1", port });
  t.match(await statusOf(channel), GONE);
  await listenHttp2(t, dispatcherOf([echo]), { address: { host: "127.0.0.1", port } });
  await eventually(t, () => channel.state === "ready");
  t.equal(await ask(channel), "a");
});

t.test("the channel connects again each time that the server restarts", async (t) => {
  const port = await freePort();
  const address = { host: "127.0.0.1", port };
  const channel = channelTo(t, address);
  for (let round = 0; round < 3; round++) {
    const server = await serveHttp2(dispatcherOf([echo]), address, LIMITS);
    await eventually(t, () => channel.state === "ready");
    t.equal(await ask(channel), "a");
    await server.close(0);
    await eventually(t, () => channel.state === "broken");
  }
});

/**
 * The only instance of a service. It was away for so long that its channel now pauses for seconds.
 */
async function longGone(t: Test, port: number): Promise<{ balancer: Balancer; channel: Http2Channel }> {
  const channel = channelTo(t, { host: "127.0.0.1", port });
  const balancer = new Balancer("raw");
  balancer.update(new Map([["only", channel]]));
  // Each call ends the pause before it, and the next pause is twice as long.
  for (let call = 0; call < 8; call++) t.match(await statusOf(balancer), { code: Code.UNAVAILABLE, neverSent: true });
  return { balancer, channel };
}

t.test("the first call to a service that is back reaches it, however long the pause is", async (t) => {
  const port = await freePort();
  const { balancer } = await longGone(t, port);
  await listenHttp2(t, dispatcherOf([echo]), { address: { host: "127.0.0.1", port } });
  t.equal(await ask(balancer), "a");
});

t.test("calls to a service that is gone do not open connections without a pause", async (t) => {
  const port = await freePort();
  const connections = await countConnections(t, port);
  const channel = channelTo(t, { host: "127.0.0.1", port });
  const balancer = new Balancer("raw");
  balancer.update(new Map([["only", channel]]));
  const began = performance.now();
  for (let calls = 0; calls < 50 && performance.now() - began < 1_000; calls++) {
    await Promise.all(Array.from({ length: 20 }, () => statusOf(balancer)));
  }
  const ms = performance.now() - began;
  t.ok(connections() <= 2 + ms / 100, `${connections()} connections in ${ms.toFixed(0)} ms`);
});

t.test("while another instance can take a call, the call does not wait for the broken one", async (t) => {
  const port = await freePort();
  const { balancer, channel } = await longGone(t, port);
  const connections = await countConnections(t, port);
  const sick = rawService({
    one() {
      throw new StatusError(Code.UNAVAILABLE, "not now");
    },
  });
  const server = await listenHttp2(t, dispatcherOf([sick]));
  const other = channelTo(t, server.address);
  balancer.update(
    new Map([
      ["only", channel],
      ["other", other],
    ]),
  );
  await eventually(t, () => other.state === "ready");
  // The balancer has backed off from this instance, so it picks both instances alike.
  for (let call = 0; call < 4; call++) t.match(await statusOf(balancer), { message: "not now" });
  t.equal(connections(), 0);
});

t.test("calls wait for the next connection when the server ends an unused one", async (t) => {
  const server = await listenHttp2(t, dispatcherOf([echo]), { maxConnectionAge: 50 });
  const channel = channelTo(t, server.address);
  await eventually(t, () => channel.state === "ready");
  await eventually(t, () => channel.state !== "ready");
  t.equal(await ask(channel), "a");
});

t.test("metadata that cannot be sent ends the call, and does not throw", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([echo]));
  const told = await statusOf(channelTo(t, address), [["no name", "x"]]);
  t.match(told, { code: Code.INTERNAL, message: /metadata cannot be sent/ });
});

t.test("metadata that is larger than the server accepts is not sent", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([echo]));
  const channel = channelTo(t, address);
  t.equal((await statusOf(channel, [["x-large", "a".repeat(8_000)]])).code, Code.OK);
  const told = await statusOf(channel, [["x-large", "a".repeat(LIMITS.maxHeaders)]]);
  t.match(told, { code: Code.RESOURCE_EXHAUSTED, message: /larger than the 16384 bytes/ });
});
