// A client that stops to read is cut, whatever it still sends; one that pauses is not.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { logLine, scene } from "./client.js";

const STALL_MS = 150;
const it = await scene(t, { stallMs: STALL_MS, heartbeatMs: 50 });
const PADDING = 16 * 1024;
const ENDLESS = `GET /feed/count?padding=${PADDING} HTTP/1.1`;
const OPENING = [
  "GET /feed/count HTTP/1.1",
  ..."Connection: Upgrade|Upgrade: websocket|Sec-WebSocket-Version: 13".split("|"),
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];
/** Masked frames whose mask is zero. */
const frame = (opcode: number, text: string): Buffer =>
  Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
const TEXT = 1;
const PING = 9;

const kinds: [title: string, lines: string[], first: Buffer | string, more: Buffer | string][] = [
  ["NDJSON", [ENDLESS], "", "G"],
  ["server-sent events", [ENDLESS, "Accept: text/event-stream"], "", "G"],
  ["WebSocket", OPENING, frame(TEXT, `{"padding":${PADDING}}`), frame(PING, "")],
];

/** Begins a stream, and reads nothing of it. */
function begin(lines: string[], first: Buffer | string): Socket {
  const socket = connect(it.port, "127.0.0.1").pause();
  socket.on("error", () => {}); // Being cut is what is waited for.
  socket.write(`${lines.join("\r\n")}\r\nHost: portico.test\r\n\r\n`);
  socket.write(first);
  return socket;
}

for (const [title, lines, first, more] of kinds) {
  t.test(`${title}: cut`, async (t) => {
    it.logged.length = 0;
    const socket = begin(lines, first);
    const sending = setInterval(() => socket.write(more), STALL_MS / 3);
    t.match(await logLine(it, "feed:Feed.Count"), { status: 499 });
    clearInterval(sending);
    await it.feed.idle();
    socket.destroy();
  });

  t.test(`${title}, read with pauses: kept`, async (t) => {
    it.logged.length = 0;
    const socket = begin(lines, first);
    for (const start = performance.now(); performance.now() - start < 5 * STALL_MS; ) {
      // Much at a time: the system tells the sender of room only when there is plenty.
      await once(socket.resume(), "data");
      await sleep(STALL_MS / 10);
      socket.pause();
      await sleep(STALL_MS / 5);
    }
    t.same(it.logged, []);
    socket.destroy();
    await it.feed.idle();
  });
}

t.test("one large message, read slowly: kept", async (t) => {
  it.logged.length = 0;
  const socket = begin([`GET /feed/count?padding=${4_000_000} HTTP/1.1`], "");
  for (const start = performance.now(); performance.now() - start < 10 * STALL_MS; ) {
    socket.read(512 * 1024);
    await sleep(STALL_MS / 3);
  }
  t.same(it.logged, []);
  socket.destroy();
  await it.feed.idle();
});
