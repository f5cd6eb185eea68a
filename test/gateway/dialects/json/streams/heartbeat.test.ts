// A silent stream is kept open. A connection whose client does not respond is closed.
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { listen } from "../../../../../gateway/node/listen.js";
import { loadConfig } from "../../../../../src/config/config.js";
import { dial, logLine, open, scene, until } from "./client.js";

const BEAT_MS = 40;
const it = await scene(t, { heartbeatMs: BEAT_MS });

for (const [title, headers, first, beats] of [
  ["NDJSON: an empty line", {}, '{"number":"1","padding":""}\n', "\n\n"],
  [
    "server-sent events: a comment",
    { accept: "text/event-stream" },
    'id: 1\ndata: {"number":"1","padding":""}\n\n',
    ":\n\n:\n\n",
  ],
] as const) {
  t.test(title, async (t) => {
    const { response } = await open(it, "/feed/count?messages=1&hang=true", { headers });
    t.equal(await until(response, new RegExp(`^${first.replaceAll(/[{}]/g, "\\$&")}${beats}`)), first + beats);
    response.destroy();
    await it.feed.idle();
  });

  t.test(`${title}; a heartbeat begins the response if no message does`, async (t) => {
    const { status, response } = await open(it, "/feed/count?hang=true", { headers });
    t.equal(status, 200);
    t.equal(await until(response, new RegExp(`^${beats}`)), beats);
    response.destroy();
    await it.feed.idle();
  });
}

t.test("a silent WebSocket is pinged", async (t) => {
  const { socket } = await dial(it, "/feed/chat");
  let pings = 0;
  await new Promise<void>((resolve) => {
    socket.on("ping", () => {
      if (++pings === 4) resolve();
    });
  });
  t.equal(socket.readyState, socket.OPEN, "answered ones keep it open");
  socket.terminate();
  await it.feed.idle();
});

t.test("a pong that arrived while the process stood still counts", async (t) => {
  const { socket, closed } = await dial(it, "/feed/chat");
  await once(socket, "ping"); // The ws package has sent the pong.
  for (const end = performance.now() + 3 * BEAT_MS; performance.now() < end; );
  const next = await Promise.race([once(socket, "ping").then(() => "ping"), closed.then(() => "close")]);
  t.equal(next, "ping");
  socket.terminate();
  await it.feed.idle();
});

t.test("WebSocket: a client that does not respond to pings is disconnected", async (t) => {
  it.logged.length = 0;
  const socket = connect(it.port, "127.0.0.1");
  socket.write(
    [
      "GET /feed/chat HTTP/1.1",
      "Host: portico.test",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "\r\n",
    ].join("\r\n"),
  );
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
  t.match(await logLine(it, "feed:Feed.Chat"), { status: 200, endedBy: "client" });
  await it.feed.idle();
});

t.test("WebSocket: a client that has gone while the service reads nothing", async (t) => {
  it.logged.length = 0;
  const { socket } = await dial(it, "/feed/stall");
  // More than is read ahead, so that the end of the connection is behind it and not read.
  const message = JSON.stringify({ padding: "x".repeat(16 * 1024) });
  while (socket.bufferedAmount < 64 * 1024) {
    socket.send(message);
    await sleep(1);
  }
  socket.terminate();
  t.match(await logLine(it, "feed:Feed.Stall"), { status: 200, endedBy: "client" });
  await it.feed.idle();
});

t.test("a stream may be silent for longer than a call may take", async (t) => {
  const limits = { ...loadConfig({}, {}), maxCallTime: 100, bodyTime: 100 };
  const silent = await scene(t);
  const gateway = await listen(silent.handler, { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => gateway.close(0));
  const { response } = await open({ ...silent, port: gateway.address.port }, "/feed/count?messages=1&hang=true");
  await until(response, /"1"/);
  const over = await Promise.race([once(response, "close").then(() => true), sleep(500).then(() => false)]);
  t.notOk(over);
  response.destroy();
  await silent.feed.idle();
});
