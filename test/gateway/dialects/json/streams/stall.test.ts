// A client that stops reading is disconnected, whatever it still sends. A client that has read all
// messages so far is not.
import { connect, type Socket } from "node:net";
import { mock } from "node:test";
import t from "tap";
import { logLine, open, type Scene, scene } from "./client.js";

const STALL_MS = 150;
/** The request to Count: messages larger than the buffers of the operating system. */
const ENDLESS = { padding: 16 * 1024 };
const MANY = { ...ENDLESS, messages: 1000, hang: true };

const get = (ask: object): string => `GET /feed/count?${new URLSearchParams(ask as Record<string, string>)} HTTP/1.1`;
/** A masked frame whose mask is zero. */
const frame = (opcode: number, text: string): Buffer =>
  Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
const TEXT = 1;
const PING = 9;
const OPENING = [
  "GET /feed/count HTTP/1.1",
  ..."Connection: Upgrade|Upgrade: websocket|Sec-WebSocket-Version: 13".split("|"),
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

interface Kind {
  readonly title: string;
  readonly lines: (ask: object) => string[];
  readonly first: (ask: object) => Buffer | string;
  readonly more: Buffer | string;
}
const http = { first: () => "", more: "G" };
const kinds: Kind[] = [
  { title: "NDJSON", lines: (ask) => [get(ask)], ...http },
  { title: "server-sent events", lines: (ask) => [get(ask), "Accept: text/event-stream"], ...http },
  {
    title: "WebSocket",
    lines: () => OPENING,
    first: (ask) => frame(TEXT, JSON.stringify(ask)),
    more: frame(PING, ""),
  },
];

/** Begins a stream, and reads nothing of it. */
function begin({ port }: Scene, { lines, first }: Kind, ask: object): Socket {
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => {}); // The test waits for the disconnect.
  socket.write(`${lines(ask).join("\r\n")}\r\nHost: portico.test\r\n\r\n`);
  socket.write(first(ask));
  return socket;
}

t.test("a client that stops reading its stream is disconnected", async (t) => {
  const it = await scene(t, { stallMs: STALL_MS, heartbeatMs: 50 });
  for (const kind of kinds) {
    t.test(kind.title, async (t) => {
      it.logged.length = 0;
      const socket = begin(it, kind, ENDLESS);
      const sending = setInterval(() => socket.write(kind.more), STALL_MS / 3);
      t.match(await logLine(it, "feed:Feed.Count"), { status: 200, endedBy: "client" });
      clearInterval(sending);
      await it.feed.idle();
      socket.destroy();
    });
  }
});

t.test("a client that has read all messages so far stays connected", async (t) => {
  const it = await scene(t, { stallMs: STALL_MS });
  // The test sets the time, so that slow reading on a busy computer does not count as a stall.
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const sockets = kinds.map((kind) => begin(it, kind, MANY));
  await Promise.all(sockets.map((socket) => readUpTo(socket, `"number":"${MANY.messages}"`)));
  it.logged.length = 0;
  mock.timers.tick(3 * STALL_MS);
  // A disconnect would have been logged before this call's log line.
  await (await open(it, "/feed/count?messages=1")).text();
  t.match(await logLine(it, "feed:Feed.Count"), { status: 200 });
  t.equal(it.logged.length, 1);
  for (const socket of sockets) socket.destroy();
  await it.feed.idle();
});

/** Continues to read after the text has arrived. */
async function readUpTo(socket: Socket, text: string): Promise<void> {
  let end = "";
  await new Promise<void>((resolve) => {
    socket.once("close", resolve).setEncoding("latin1").resume();
    socket.on("data", (chunk: string) => {
      end = end.slice(-text.length) + chunk;
      if (end.includes(text)) resolve();
    });
  });
}
