// A slow side slows the other side, and no buffer between them grows: neither for a client that
// hardly reads an endless stream, nor for a service that hardly reads what a client sends.
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { WebSocket } from "ws";
import { dial, type Scene, scene } from "./client.js";

const MiB = 1024 * 1024;
const PADDING = 16 * 1024;
const it = await scene(t);
const ENDLESS = `/feed/count?padding=${PADDING}`;

/** Resolves when a number has not changed for some time. */
async function settled(figure: () => number): Promise<number> {
  for (let last = -1; ; await sleep(150)) {
    const now = figure();
    if (now === last && now > 0) return now;
    last = now;
  }
}

function dialRaw({ port }: Scene, lines: string[]): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  socket.write(`${lines.join("\r\n")}\r\nHost: portico.test\r\n\r\n`);
  return socket;
}

const websocket =
  "Connection: Upgrade|Upgrade: websocket|Sec-WebSocket-Version: 13|Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
/** `{"padding":16384}` in a masked text frame whose mask is zero. */
const frame = Buffer.concat([Buffer.from([0x81, 0x80 | 17, 0, 0, 0, 0]), Buffer.from(`{"padding":${PADDING}}`)]);

for (const [title, lines, request] of [
  ["NDJSON", [`GET ${ENDLESS} HTTP/1.1`], undefined],
  ["server-sent events", [`GET ${ENDLESS} HTTP/1.1`, "Accept: text/event-stream"], undefined],
  ["WebSocket", ["GET /feed/count HTTP/1.1", ...websocket.split("|")], frame],
] as [string, string[], Buffer | undefined][]) {
  t.test(`a client that does not read: ${title}`, async (t) => {
    it.feed.produced = 0;
    const socket = dialRaw(it, lines);
    if (request !== undefined) socket.write(request);
    const produced = await settled(() => it.feed.produced);
    // The kernel's maximum for both ends of a connection, and the bytes that wait in the process.
    const held = (produced * PADDING) / MiB;
    t.ok(held < 16, `the service was stopped after ${produced} messages, ${held.toFixed(1)} MiB`);
    socket.read();
    socket.destroy();
    await it.feed.idle();
  });
}

t.test("a client that reads slowly: the process does not grow", async (t) => {
  it.feed.produced = 0;
  const socket = dialRaw(it, [`GET ${ENDLESS} HTTP/1.1`]);
  await settled(() => it.feed.produced);
  let read = 0;
  const before = process.memoryUsage().rss;
  const start = it.feed.produced;
  for (let round = 0; round < 40; round++) {
    const chunk = socket.read() as Buffer | null;
    read += chunk?.length ?? 0;
    await sleep(10);
  }
  const grown = (process.memoryUsage().rss - before) / MiB;
  const waiting = (it.feed.produced * PADDING - read) / MiB;
  t.ok(read > PADDING, `${(read / MiB).toFixed(1)} MiB were read, ${it.feed.produced - start} more messages were made`);
  t.ok(waiting < 16, `${waiting.toFixed(1)} MiB are under way`);
  t.ok(grown < 32, `resident size has grown by ${grown.toFixed(1)} MiB`);
  socket.destroy();
  await it.feed.idle();
});

t.test(
  "a client that reads 1 KiB/s of an endless stream: the service pauses, and the process does not grow",
  async (t) => {
    it.feed.produced = 0;
    const socket = dialRaw(it, [`GET ${ENDLESS} HTTP/1.1`]);
    const produced = await settled(() => it.feed.produced);
    const before = process.memoryUsage().rss;
    let read = 0;
    for (let round = 0; round < 30; round++) {
      read += (socket.read(102) as Buffer | null)?.length ?? 0;
      await sleep(100);
    }
    const grown = (process.memoryUsage().rss - before) / MiB;
    t.ok(read > 28 * 102, `${read} bytes were read in 3 s`);
    t.equal(
      it.feed.produced,
      produced,
      `${((produced * PADDING) / MiB).toFixed(1)} MiB wait, most of them in the system`,
    );
    t.ok(grown < 8, `resident size has grown by ${grown.toFixed(1)} MiB`);
    socket.destroy();
    await it.feed.idle();
  },
);

t.test("a service that does not read: the client is not read", async (t) => {
  const { socket } = await dial(it, "/feed/stall");
  const message = JSON.stringify({ padding: "x".repeat(PADDING) });
  let sent = 0;
  const before = process.memoryUsage().rss;
  while (sent < 4000 && socket.bufferedAmount < MiB) {
    socket.send(message);
    sent++;
    if (sent % 16 === 0) await sleep(1);
  }
  const taken = (sent * PADDING - socket.bufferedAmount) / MiB;
  const grown = (process.memoryUsage().rss - before) / MiB;
  t.ok(taken < 16, `${taken.toFixed(1)} MiB were taken`);
  t.ok(grown < 64, `resident size of both ends has grown by ${grown.toFixed(1)} MiB`);
  t.equal(it.feed.read, 1);
  socket.terminate();
});

t.test("a client that sends endless pings and reads no pongs is disconnected", async (t) => {
  const { socket, closed } = await dial(it, "/feed/chat");
  socket.pause();
  let pings = 0;
  for (; pings < 200_000 && socket.readyState === WebSocket.OPEN; pings++) {
    socket.ping("x".repeat(100));
    if (pings % 1000 === 0) await sleep(1);
  }
  socket.resume();
  await closed;
  t.ok(pings < 200_000, `after ${pings} pings`);
});
