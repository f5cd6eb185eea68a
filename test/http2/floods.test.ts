// The limits for hostile peers. Each limit is tested from both sides: traffic below it is accepted,
// and traffic above it ends the connection. No other limit has this effect, so without the limit
// the test fails.
import t, { type Test } from "tap";
import { ErrorCode } from "../../src/http2/errors.js";
import { Flag, FrameType } from "../../src/http2/frames.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { block, frame, headers, isType, message, type RawPeer, REQUEST, rawClient, reset, uint32 } from "./peer.js";
import { listenHttp2 } from "./serve.js";

async function connect(t: Test): Promise<RawPeer> {
  const service = rawService({ one: () => new Promise(() => {}), upload: () => new Promise(() => {}) });
  const { address } = await listenHttp2(t, dispatcherOf([service]));
  return rawClient(t, address);
}

const UPLOAD = REQUEST.map(([name, value]) => [name, name === ":path" ? "/raw.Raw/Upload" : value] as const);

const goawayCode = async (peer: RawPeer): Promise<number | undefined> =>
  (await peer.next(isType(FrameType.GOAWAY)))?.payload.readUInt32BE(4);

/** Frames that carry nothing. Stream 1 is open. */
const IDLE: [what: string, frame: (index: number) => Buffer][] = [
  ["PING", () => frame(FrameType.PING, 0, 0, Buffer.alloc(8))],
  ["acknowledgements of PING", () => frame(FrameType.PING, Flag.ACK, 0, Buffer.alloc(8))],
  ["SETTINGS", () => frame(FrameType.SETTINGS, 0, 0)],
  ["acknowledgements of SETTINGS", () => frame(FrameType.SETTINGS, Flag.ACK, 0)],
  ["empty DATA", () => frame(FrameType.DATA, 0, 1)],
  ["DATA with only padding", () => frame(FrameType.DATA, Flag.PADDED, 1, Buffer.from([3, 0, 0, 0]))],
  ["WINDOW_UPDATE of the connection", () => frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(1))],
  ["WINDOW_UPDATE of a stream", () => frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(1))],
  ["PRIORITY", () => frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(5))],
  ["frames of unknown types", () => frame(0xbe, 0, 1, Buffer.alloc(3))],
  ["RST_STREAM of ended streams", (index) => (index === 0 ? reset(1, 0) : reset(1, 0))],
  ["GOAWAY", () => frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(8))],
];

for (const [what, one] of IDLE) {
  t.test(`a flood of ${what}`, async (t) => {
    const peer = await connect(t);
    peer.send(headers(1, UPLOAD));
    peer.send(...Array.from({ length: 900 }, (_, index) => one(index)));
    t.ok(await peer.answersPing(), "900 go through");
    peer.send(...Array.from({ length: 500 }, (_, index) => one(index)));
    t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM, "1400 do not");
    await peer.ended();
  });
}

t.test("useful frames allow more frames that carry nothing", async (t) => {
  const peer = await connect(t);
  peer.send(headers(1, UPLOAD));
  const useful = frame(FrameType.DATA, 0, 1, message(Buffer.from("a")));
  for (let round = 0; round < 5; round++) {
    peer.send(...Array.from({ length: 900 }, () => frame(FrameType.PING, 0, 0, Buffer.alloc(8))));
    peer.send(...Array.from({ length: 300 }, () => useful));
    t.ok(await peer.answersPing());
  }
});

t.test("rapid reset (CVE-2023-44487): streams that are opened only to be reset", async (t) => {
  const peer = await connect(t);
  const pair = (index: number) => [headers(1 + 2 * index, REQUEST), reset(1 + 2 * index, ErrorCode.CANCEL)];
  peer.send(...Array.from({ length: 900 }, (_, index) => pair(index)).flat());
  t.ok(await peer.answersPing(), "900 go through");
  peer.send(...Array.from({ length: 500 }, (_, index) => pair(900 + index)).flat());
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM, "1400 do not");
});

t.test("streams that the peer makes the server reset are counted", async (t) => {
  const peer = await connect(t);
  const pair = (index: number) => [
    headers(1 + 2 * index, REQUEST),
    frame(FrameType.WINDOW_UPDATE, 0, 1 + 2 * index, uint32(0)),
  ];
  peer.send(...Array.from({ length: 900 }, (_, index) => pair(index)).flat());
  t.ok(await peer.answersPing(), "900 go through");
  peer.send(...Array.from({ length: 500 }, (_, index) => pair(900 + index)).flat());
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM, "1400 do not");
});

t.test("concurrent streams above the limit are refused, and the others continue", async (t) => {
  const peer = await connect(t);
  peer.send(...Array.from({ length: 101 }, (_, index) => headers(1 + 2 * index, REQUEST)));
  const refused = await peer.next(isType(FrameType.RST_STREAM));
  t.equal(refused?.streamId, 201);
  t.equal(refused?.payload.readUInt32BE(), ErrorCode.REFUSED_STREAM);
  t.ok(await peer.answersPing());
});

const LARGE = "v".repeat(15_000);

t.test("a header list that is too large is refused, and the connection stays open", async (t) => {
  const peer = await connect(t);
  const large = block([...REQUEST, ["x-a", LARGE], ["x-b", LARGE]]);
  peer.send(
    frame(FrameType.HEADERS, Flag.END_STREAM, 1, large.subarray(0, 16_384)),
    frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, large.subarray(16_384)),
  );
  const response = await peer.next(isType(FrameType.HEADERS));
  t.match(peer.fields(response as never), { "grpc-status": "8" });
  t.ok(await peer.answersPing());
});

t.test("endless CONTINUATION (VU#421644): a block of many bytes", async (t) => {
  const peer = await connect(t);
  peer.send(frame(FrameType.HEADERS, 0, 1, Buffer.alloc(16_384)));
  peer.send(...Array.from({ length: 63 }, () => frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(16_384))));
  peer.send(frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(1)));
  const goaway = await peer.next(isType(FrameType.GOAWAY));
  t.equal(goaway?.payload.readUInt32BE(4), ErrorCode.ENHANCE_YOUR_CALM);
  t.match(goaway?.payload.toString("latin1", 8), /too large/);
});

for (const size of [60_000, 90_000, 1_000_000]) {
  t.test(`a header block of ${size} bytes is refused, and another call gets its response`, async (t) => {
    const service = rawService({ one: async (request) => request });
    const { address } = await listenHttp2(t, dispatcherOf([service]));
    const peer = await rawClient(t, address);
    peer.send(headers(1, REQUEST));
    const large = block([...REQUEST, ["x-a", "v".repeat(size)]]);
    for (let at = 0; at < large.length; at += 16_384) {
      const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      const flags = at + 16_384 >= large.length ? Flag.END_HEADERS : 0;
      peer.send(frame(type, flags | (at === 0 ? Flag.END_STREAM : 0), 3, large.subarray(at, at + 16_384)));
    }
    const refused = await peer.next(isType(FrameType.HEADERS));
    t.equal(refused?.streamId, 3);
    t.match(peer.fields(refused as never), { "grpc-status": "8" });
    peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1, message(Buffer.from("a"))));
    const answered = await peer.next(isType(FrameType.DATA));
    t.equal(answered?.streamId, 1);
  });
}

t.test("a header block that does not end in time closes the connection", async (t) => {
  const limits = { ...LIMITS, headerTime: 100 };
  const server = await serveHttp2(dispatcherOf([]), { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => server.close(0));
  const peer = await rawClient(t, server.address);
  peer.send(headers(1, REQUEST, 0));
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM);
});

t.test("a flood of streams above the limit, which are opened only to be refused", async (t) => {
  const peer = await connect(t);
  const open = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => headers(1 + 2 * (from + index), REQUEST));
  peer.send(...open(0, 1_000));
  t.ok(await peer.answersPing(), "900 go through");
  peer.send(...open(1_000, 500));
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM, "1400 do not");
});

t.test("a connection without calls is drained after the idle time, and one with a call is not", async (t) => {
  const service = rawService({ one: async (request) => request, upload: () => new Promise(() => {}) });
  const limits = { ...LIMITS, keepAlive: 100 };
  const server = await serveHttp2(dispatcherOf([service]), { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => server.close(0));
  const busy = await rawClient(t, server.address);
  busy.send(headers(1, UPLOAD));
  const idle = await rawClient(t, server.address);
  t.equal(await goawayCode(idle), ErrorCode.NO_ERROR);
  await idle.ended();
  t.ok(await busy.answersPing());
  t.notOk(busy.frames.some(isType(FrameType.GOAWAY)));
});

t.test("endless CONTINUATION: a block of many frames", async (t) => {
  const peer = await connect(t);
  peer.send(headers(1, REQUEST, 0));
  peer.send(...Array.from({ length: 17 }, () => frame(FrameType.CONTINUATION, 0, 1)));
  const goaway = await peer.next(isType(FrameType.GOAWAY));
  t.equal(goaway?.payload.readUInt32BE(4), ErrorCode.ENHANCE_YOUR_CALM);
  t.match(goaway?.payload.toString("latin1", 8), /too large/, "not when the time for headers is over");
});

t.test("a header block with the maximum number of frames is read", async (t) => {
  const peer = await connect(t);
  peer.send(headers(1, REQUEST, 0));
  peer.send(...Array.from({ length: 15 }, () => frame(FrameType.CONTINUATION, 0, 1)));
  peer.send(frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1));
  t.ok(await peer.answersPing());
});

t.test("a small header block that expands to a large list is refused", async (t) => {
  const peer = await connect(t);
  const repeated = Buffer.concat([Buffer.from([0x40, 3]), Buffer.from("x-a"), Buffer.from([127, 0x81, 0x1e])]);
  const bomb = Buffer.concat([block(REQUEST), repeated, Buffer.alloc(4_000, "v"), Buffer.alloc(12_000, 0xbe)]);
  peer.send(frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, 1, bomb));
  const response = await peer.next(isType(FrameType.HEADERS));
  t.match(peer.fields(response as never), { "grpc-status": "8" });
});

t.test("DATA beyond a stream's flow-control window is refused", async (t) => {
  const peer = await connect(t);
  peer.send(headers(1, UPLOAD));
  // The endpoint does not read. When its queue is full, the server sends no WINDOW_UPDATE any more.
  const bytes = message(Buffer.alloc(200_000));
  const sent = Buffer.concat([bytes, bytes, bytes]);
  const frames = [];
  for (let at = 0; at < sent.length; at += 16_384)
    frames.push(frame(FrameType.DATA, 0, 1, sent.subarray(at, at + 16_384)));
  peer.send(...frames);
  const refused = await peer.next(isType(FrameType.RST_STREAM));
  t.equal(refused?.payload.readUInt32BE(), ErrorCode.FLOW_CONTROL_ERROR);
  t.ok(await peer.answersPing());
});

t.test("WINDOW_UPDATE frames that overflow a window are refused", async (t) => {
  const ofStream = await connect(t);
  ofStream.send(headers(1, REQUEST), frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(0x7fff_ffff)));
  const refused = await ofStream.next(isType(FrameType.RST_STREAM));
  t.equal(refused?.payload.readUInt32BE(), ErrorCode.FLOW_CONTROL_ERROR);
  t.ok(await ofStream.answersPing());
  const ofConnection = await connect(t);
  ofConnection.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(0x7fff_ffff)));
  t.equal(await goawayCode(ofConnection), ErrorCode.FLOW_CONTROL_ERROR);
});

t.test("a peer that causes responses and does not read them is disconnected", async (t) => {
  let sending = true;
  const service = rawService({
    async *download() {
      for (; sending; ) yield Buffer.alloc(60_000);
    },
  });
  t.teardown(() => {
    sending = false;
  });
  const budget = new MemoryBudget();
  const { address } = await listenHttp2(t, dispatcherOf([service]), { budget });
  const peer = await rawClient(t, address);
  peer.socket.pause();
  const download = REQUEST.map(([name, value]) => [name, name === ":path" ? "/raw.Raw/Download" : value] as const);
  // The flow-control windows are large enough for everything, so only the socket delays the
  // response. Each useful frame allows the PINGs that follow it.
  peer.send(frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])));
  peer.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(0x7fff_0000)));
  peer.send(headers(1, download), frame(FrameType.DATA, Flag.END_STREAM, 1, message(Buffer.from("a"))));
  peer.send(headers(3, UPLOAD));
  const useful = frame(FrameType.DATA, 0, 3, message(Buffer.from("a")));
  const pings = Buffer.concat(Array.from({ length: 4 }, () => frame(FrameType.PING, 0, 0, Buffer.alloc(8))));
  const round = Buffer.concat(Array.from({ length: 200 }, () => Buffer.concat([useful, pings])));
  const cut = new Promise((resolve) => peer.socket.once("error", resolve));
  let reserved = 0;
  const flood = (): void => {
    reserved = Math.max(reserved, budget.reserved);
    if (!peer.socket.destroyed) peer.socket.write(round, () => setImmediate(flood));
  };
  flood();
  t.match(await cut, { code: /ECONNRESET|EPIPE/ });
  t.ok(reserved > 512 * 1024, `what waits for the socket is reserved: ${reserved} bytes`);
  t.ok(reserved < 2 * 1024 ** 2, `${reserved} bytes waited at most`);
});
