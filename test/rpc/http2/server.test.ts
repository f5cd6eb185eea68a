// The server, frame by frame, as clients that do not know Portico see it.

import { gzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { Code, StatusError } from "../../../src/errors.js";
import { ErrorCode } from "../../../src/http2/errors.js";
import { Flag, FrameType } from "../../../src/http2/frames.js";
import { unary } from "../../../src/rpc/client.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import type { Context } from "../../../src/rpc/service.js";
import { MAX_BODY } from "../../contract/channel.js";
import {
  type Frame,
  frame,
  headers,
  isType,
  message,
  type RawPeer,
  REQUEST,
  rawClient,
  reset,
  uint32,
} from "../../http2/peer.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { deferred } from "../../support/deferred.js";
import { collectHalfHours } from "../ages.js";
import { type RawImplementation, RawService, rawService } from "../raw-service.js";
import { dispatcherOf, LIMITS } from "../serve.js";

const END = Flag.END_HEADERS | Flag.END_STREAM;

const requestTo = (endpoint: string, ...more: [string, string][]) => [
  ...REQUEST.map(([name, value]) => [name, name === ":path" ? `/raw.Raw/${endpoint}` : value] as const),
  ...more,
];

async function connect(t: Test, endpoints: Partial<RawImplementation>) {
  const server = await listenHttp2(t, dispatcherOf([rawService(endpoints)]));
  return { server, peer: await rawClient(t, server.address) };
}

const echo: Partial<RawImplementation> = { one: (request) => request };

/** Reads the header lists of a response, and its bytes. */
async function response(peer: RawPeer, streamId: number) {
  const lists: Record<string, string>[] = [];
  const data: Buffer[] = [];
  for (;;) {
    const next = (await peer.next((frame) => frame.streamId === streamId)) as Frame;
    if (next.type === FrameType.HEADERS) lists.push(peer.fields(next));
    else if (next.type === FrameType.DATA) data.push(next.payload);
    if (next.type === FrameType.RST_STREAM || next.flags & Flag.END_STREAM) {
      return { lists, data: Buffer.concat(data), last: next };
    }
  }
}

const ask = (text: string): Buffer => frame(FrameType.DATA, Flag.END_STREAM, 1, message(Buffer.from(text)));

/**
 * A peer's initial window for a stream: bytes that it accepts before a WINDOW_UPDATE (RFC 9113,
 * section 6.9.2).
 */
const WINDOW = 65_535;

t.test("a successful call gets headers, a message and trailers", async (t) => {
  const { peer } = await connect(t, echo);
  peer.send(headers(1, REQUEST), ask("a"));
  const { lists, data } = await response(peer, 1);
  t.same(lists, [{ ":status": "200", "content-type": "application/grpc" }, { "grpc-status": "0" }]);
  t.same(data, message(Buffer.from("a")));
});

t.test("a failed call gets trailers only", async (t) => {
  const { peer } = await connect(t, {
    one() {
      throw new StatusError(Code.NOT_FOUND, "no ä");
    },
  });
  peer.send(headers(1, REQUEST), ask("a"));
  const { lists } = await response(peer, 1);
  t.same(lists, [
    { ":status": "200", "content-type": "application/grpc", "grpc-status": "5", "grpc-message": "no %C3%A4" },
  ]);
});

const UNTYPED = REQUEST.filter(([name]) => name !== "content-type");

const NOT_GRPC: [what: string, fields: (readonly [string, string])[], httpStatus: string][] = [
  ["a GET request", REQUEST.map(([name, value]) => [name, name === ":method" ? "GET" : value] as const), "405"],
  [
    "another content type",
    REQUEST.map(([name, value]) => [name, name === "content-type" ? "text/html" : value]),
    "415",
  ],
  ["no content type", UNTYPED, "415"],
];

for (const [what, fields, httpStatus] of NOT_GRPC) {
  t.test(`${what}: the response explains what the server accepts`, async (t) => {
    const { peer } = await connect(t, echo);
    peer.send(headers(1, fields, END));
    const { lists, data } = await response(peer, 1);
    t.match(lists, [{ ":status": httpStatus }]);
    t.match(`${data}`, /^gRPC is spoken here/);
  });
}

t.test("a request that is not gRPC is reset when it breaks HTTP, even if that shows late", async (t) => {
  const { peer } = await connect(t, echo);
  peer.send(headers(1, [...UNTYPED, ["content-length", "2"]]));
  peer.send(frame(FrameType.PING, 0, 0, Buffer.alloc(8)));
  await peer.next(isType(FrameType.PING));
  peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1, Buffer.from("abc")));
  const reset = await peer.next((frame) => frame.streamId === 1);
  t.equal(reset?.type, FrameType.RST_STREAM);
  t.equal(reset?.payload.readUInt32BE(), ErrorCode.PROTOCOL_ERROR);
});

t.test("a request that is not gRPC is refused even when it does not end", async (t) => {
  const { peer } = await connect(t, echo);
  peer.send(headers(1, UNTYPED));
  t.match((await response(peer, 1)).lists, [{ ":status": "415" }]);
});

t.test("compressed messages are read, and unknown compressions are refused", async (t) => {
  const { peer } = await connect(t, echo);
  peer.send(headers(1, requestTo("One", ["grpc-encoding", "gzip"])));
  peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1, message(gzipSync("hello"), 1)));
  t.same((await response(peer, 1)).data, message(Buffer.from("hello")));
  peer.send(headers(3, requestTo("One", ["grpc-encoding", "br"]), END));
  t.match((await response(peer, 3)).lists, [{ "grpc-status": "12", "grpc-accept-encoding": "identity,deflate,gzip" }]);
});

t.test("messages that are large when decompressed arrive in order, and before the end of the stream", async (t) => {
  const { peer } = await connect(t, {
    async upload(requests) {
      const sizes: number[] = [];
      for await (const request of requests) sizes.push(request.length);
      return Buffer.from(sizes.join());
    },
  });
  peer.send(headers(1, requestTo("Upload", ["grpc-encoding", "gzip"])));
  const sizes = [MAX_BODY, 1, MAX_BODY];
  for (const size of sizes) peer.send(frame(FrameType.DATA, 0, 1, message(gzipSync(Buffer.alloc(size)), 1)));
  peer.send(ask("abc"));
  t.same((await response(peer, 1)).data, message(Buffer.from([...sizes, 3].join())));
});

/** What a client accepts, and the encoding of the response to a message in gzip. */
const RESPONSE_ENCODINGS: [accepted: string, encoding: "gzip" | undefined][] = [
  ["identity,deflate,gzip", "gzip"],
  ["identity, gzip", "gzip"],
  ["identity,deflate", undefined],
];

for (const [accepted, encoding] of RESPONSE_ENCODINGS) {
  t.test(
    `the response to gzip has the encoding ${encoding ?? "identity"} when the client accepts ${accepted}`,
    async (t) => {
      const { peer } = await connect(t, echo);
      peer.send(headers(1, requestTo("One", ["grpc-encoding", "gzip"], ["grpc-accept-encoding", accepted])));
      peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1, message(gzipSync("hello"), 1)));
      const { lists, data } = await response(peer, 1);
      t.equal(lists[0]?.["grpc-encoding"], encoding);
      const body = encoding === undefined ? message(Buffer.from("hello")) : message(gzipSync("hello"), 1);
      t.same(data, body);
    },
  );
}

t.test("grpc-timeout ends a call, and a malformed one is refused", async (t) => {
  const { peer } = await connect(t, { one: () => new Promise(() => {}) });
  peer.send(headers(1, requestTo("One", ["grpc-timeout", "30m"])), ask("a"));
  t.match((await response(peer, 1)).lists, [{ "grpc-status": "4" }]);
  peer.send(headers(3, requestTo("One", ["grpc-timeout", "soon"]), END));
  t.match((await response(peer, 3)).lists, [{ "grpc-status": "13", "grpc-message": "grpc-timeout is malformed" }]);
});

for (const timeout of ["0n", "0m", "0S", "00000000H"]) {
  t.test(`a call with the grpc-timeout ${timeout} ends before its endpoint is called`, async (t) => {
    let called = 0;
    const { peer } = await connect(t, { one: () => Buffer.from(`${++called}`) });
    peer.send(headers(1, requestTo("One", ["grpc-timeout", timeout])), ask("a"));
    t.match((await response(peer, 1)).lists, [{ "grpc-status": "4" }]);
    t.equal(called, 0);
  });
}

for (const [value, isBase64] of [
  ["YWJj", true],
  ["YWI", true],
  ["YWI=", true],
  ["YQ==", true],
  ["YQ", true],
  ["", true],
  ["YWJj,YWI=", true],
  ["*", false],
  ["YWJjZ", false],
  ["YQ=", false],
  ["YW-_", false],
  ["YWJj,?", false],
] as const) {
  t.test(`-bin metadata ${JSON.stringify(value)} is ${isBase64 ? "accepted" : "refused"}`, async (t) => {
    let called = 0;
    const { peer } = await connect(t, { one: () => Buffer.from(`${++called}`) });
    peer.send(headers(1, requestTo("One", ["x-a-bin", value])), ask("a"));
    const ended = (await response(peer, 1)).lists.at(-1);
    if (isBase64) t.match(ended, { "grpc-status": "0" });
    else t.match(ended, { "grpc-status": "13", "grpc-message": 'the metadata "x-a-bin" is not base64' });
    t.equal(called, isBase64 ? 1 : 0);
  });
}

t.test("-bin metadata with too many values is refused, even if it has few bytes", async (t) => {
  const { peer } = await connect(t, { one: (request) => request });
  const values = (count: number) => requestTo("One", ["x-a-bin", ",".repeat(count - 2)], ["x-b-bin", ""]);
  peer.send(headers(1, values(256)), ask("a"), headers(3, values(257)));
  t.match((await response(peer, 1)).lists.at(-1), { "grpc-status": "0" });
  t.match((await response(peer, 3)).lists.at(-1), { "grpc-status": "8", "grpc-message": /or 256 binary values/ });
});

t.test("a failed call ends although its peer does not read its messages", async (t) => {
  let sent = 0;
  // On a busy computer the deadline may pass before the window is full.
  for (let ms = 50; sent < WINDOW && ms < 10_000; ms *= 2) {
    const { peer } = await connect(t, {
      async *download(_request, { signal }) {
        for (; !signal.aborted; ) yield Buffer.alloc(50_000);
      },
    });
    peer.send(headers(1, requestTo("Download", ["grpc-timeout", `${ms}m`])), ask("a"));
    const { lists, data } = await response(peer, 1);
    t.match(lists.at(-1), { "grpc-status": "4" });
    sent = data.length;
  }
  t.equal(sent, WINDOW, "exactly the initial window");
});

t.test("a request that is incomplete when its response ends is reset with NO_ERROR", async (t) => {
  const { peer } = await connect(t, { upload: () => Buffer.from("enough") });
  peer.send(headers(1, requestTo("Upload")));
  await response(peer, 1);
  t.equal((await peer.next(isType(FrameType.RST_STREAM)))?.payload.readUInt32BE(), ErrorCode.NO_ERROR);
  peer.send(frame(FrameType.DATA, 0, 1, message(Buffer.from("late"))), headers(1, [["x-late", "y"]], END));
  t.ok(await peer.answersPing(), "frames in transit are ignored");
  t.notOk(peer.frames.some(isType(FrameType.RST_STREAM)));
});

t.test("END_STREAM and a reset at the same time cancel the call, and do not end the stream normally", async (t) => {
  let ended = false;
  const { promise: broken, resolve: broke } = deferred<Code>();
  const { peer } = await connect(t, {
    async *chat(requests) {
      try {
        for await (const request of requests) yield request;
        ended = true;
      } catch (error) {
        broke((error as StatusError).code);
      }
    },
  });
  peer.send(headers(1, requestTo("Chat")), frame(FrameType.DATA, 0, 1, message(Buffer.from("a"))));
  await peer.next(isType(FrameType.DATA));
  peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1), reset(1, ErrorCode.CANCEL));
  t.equal(await broken, Code.CANCELLED);
  t.equal(ended, false);
});

t.test("a drain sends two GOAWAYs, and loses no call in between", async (t) => {
  const { promise: released, resolve: release } = deferred();
  const { server, peer } = await connect(t, {
    one: async (request) => {
      await released;
      return request;
    },
  });
  peer.send(headers(1, REQUEST), ask("a"));
  t.ok(await peer.answersPing());
  const closed = server.close(10_000);
  const first = await peer.next(isType(FrameType.GOAWAY));
  t.same(first?.payload, Buffer.concat([uint32(0x7fff_ffff), uint32(0)]), "no stream is the last yet");
  const ping = await peer.next(isType(FrameType.PING));
  // A call that the client sent before it read the first GOAWAY.
  peer.send(headers(3, REQUEST), frame(FrameType.DATA, Flag.END_STREAM, 3, message(Buffer.from("b"))));
  peer.send(frame(FrameType.PING, Flag.ACK, 0, ping?.payload));
  const second = await peer.next(isType(FrameType.GOAWAY));
  t.same(second?.payload, Buffer.concat([uint32(3), uint32(0)]));
  peer.send(headers(5, REQUEST, END));
  t.equal((await peer.next(isType(FrameType.RST_STREAM)))?.payload.readUInt32BE(), ErrorCode.REFUSED_STREAM);
  release();
  for (const streamId of [1, 3]) t.match((await response(peer, streamId)).lists.at(-1), { "grpc-status": "0" });
  await peer.ended();
  await closed;
});

t.test("a drain ends calls that do not finish in time", async (t) => {
  const { server, peer } = await connect(t, { one: () => new Promise(() => {}) });
  peer.send(headers(1, REQUEST), ask("a"));
  t.ok(await peer.answersPing());
  await server.close(50);
  await peer.ended();
});

t.test("a connection is replaced at its maximum age, and no call fails", async (t) => {
  const server = await listenHttp2(t, dispatcherOf([rawService(echo)]), { maxConnectionAge: 50 });
  const channel = channelTo(t, server.address);
  const until = Date.now() + 300;
  let calls = 0;
  let wrong = 0;
  // On a busy computer that time may be too short for many calls.
  for (; Date.now() < until || calls <= 10; calls++) {
    if (`${await unary(channel, RawService.one, Buffer.from(`${calls}`))}` !== `${calls}`) wrong++;
  }
  t.equal(wrong, 0, `of ${calls}`);
});

t.test("the default maximum age is about half an hour", async (t) => {
  const halfHours = collectHalfHours(t);
  const { peer } = await connect(t, echo);
  t.equal(halfHours.length, 1);
  for (const pass of halfHours) {
    pass();
    t.ok(await peer.next(isType(FrameType.GOAWAY)));
  }
});

t.test("the endpoint gets the peer's address, also over IPv6", async (t) => {
  let peer = "";
  const service = rawService({
    one(request, { clientAddress }: Context) {
      peer = clientAddress;
      return request;
    },
  });
  for (const host of ["127.0.0.1", "::1"]) {
    const { address } = await listenHttp2(t, dispatcherOf([service]), { address: { host, port: 0 } });
    await unary(channelTo(t, address), RawService.one, Buffer.from("a"));
    t.equal(peer, host);
  }
});

t.test("the error for a port in use names the port", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([]));
  await t.rejects(serveHttp2(dispatcherOf([]), address, LIMITS), {
    message: new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${address.port}: .*EADDRINUSE`),
  });
});

t.test("connections above the limit are closed", async (t) => {
  const limits = { ...LIMITS, maxConnections: 2 };
  const server = await serveHttp2(dispatcherOf([]), { host: "127.0.0.1", port: 0 }, limits);
  t.teardown(() => server.close(0));
  await rawClient(t, server.address);
  await rawClient(t, server.address);
  const third = await rawClient(t, server.address);
  t.equal(third.closed, true);
});
