// How a channel finds its server, loses it, and finds it again.

import { createServer } from "node:net";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { unary } from "../../../src/rpc/client.js";
import { type Http2Channel, MIN_FULL } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { freePort } from "../../support/ports.js";
import { RawService, rawService, statusOf } from "../raw-service.js";
import { dispatcherOf, LIMITS } from "../serve.js";

const echo = rawService({ one: (request) => request });
const ask = async (channel: Http2Channel): Promise<string> =>
  `${await unary(channel, RawService.one, Buffer.from("a"))}`;

/** What a call must find, asked for until it does. */
async function eventually(t: Test, check: () => boolean): Promise<void> {
  const until = Date.now() + 30_000;
  while (!check() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
  t.ok(check());
}

const GONE = { code: Code.UNAVAILABLE, message: "the service cannot be reached", neverSent: true };

t.test("a server that is not there: the call was never sent, and no address is told", async (t) => {
  const channel = channelTo(t, { host: "127.0.0.1", port: await freePort() });
  t.equal(channel.state, "connecting");
  t.match(await statusOf(channel), GONE);
  t.equal(channel.state, "broken");
  t.match(await statusOf(channel), GONE, "at once, while it is not being tried");
});

t.test("a channel is full while many calls wait for a stream", async (t) => {
  const channel = channelTo(t, { host: "127.0.0.1", port: await freePort() });
  const calls: Promise<unknown>[] = [];
  while (calls.length < MIN_FULL) {
    t.equal(channel.isFull, false);
    calls.push(statusOf(channel));
  }
  t.equal(channel.isFull, true);
  await Promise.all(calls);
  t.equal(channel.isFull, false);
});

t.test("a name that does not resolve: the call was never sent", async (t) => {
  t.match(await statusOf(channelTo(t, { host: "does-not-exist.invalid", port: 1 })), GONE);
});

t.test("a server that speaks another protocol", async (t) => {
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

t.test("a server that accepts and closes is not connected to without pause", async (t) => {
  let connections = 0;
  const listener = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  t.teardown(() => listener.close());
  await new Promise((resolve) => listener.once("listening", resolve));
  channelTo(t, { host: "127.0.0.1", port: (listener.address() as { port: number }).port });
  const began = performance.now();
  await eventually(t, () => connections >= 2);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const ms = performance.now() - began;
  t.ok(connections <= 3 + ms / 100, `${connections} connections in ${ms.toFixed(0)} ms`);
});

t.test("a server that starts later is found", async (t) => {
  const port = await freePort();
  const channel = channelTo(t, { host: "127.0.0.1", port });
  t.match(await statusOf(channel), GONE);
  await listenHttp2(t, dispatcherOf([echo]), { address: { host: "127.0.0.1", port } });
  await eventually(t, () => channel.state === "ready");
  t.equal(await ask(channel), "a");
});

t.test("a server that is started anew is found again, call by call", async (t) => {
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

t.test("a server that lets a connection go that nobody has used yet: calls wait for the next one", async (t) => {
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

t.test("metadata larger than the server takes is not sent", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([echo]));
  const channel = channelTo(t, address);
  t.equal((await statusOf(channel, [["x-large", "a".repeat(8_000)]])).code, Code.OK);
  const told = await statusOf(channel, [["x-large", "a".repeat(LIMITS.maxHeaders)]]);
  t.match(told, { code: Code.RESOURCE_EXHAUSTED, message: /larger than the 16384 bytes/ });
});
