// The memory that clients of the gRPC port can use in a process is limited: over Portico's own
// HTTP/2, and over grpc-js as far as that shows its buffers. Responses of services are limited in
// the process of the caller. When calls are over, nothing stays reserved for them, even if their
// connection stays open.

import assert from "node:assert/strict";
import t, { type Test } from "tap";
import type { Address } from "../../src/address/address.js";
import { Code } from "../../src/errors.js";
import { ErrorCode } from "../../src/http2/errors.js";
import { Flag, FrameType } from "../../src/http2/frames.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { Status } from "../../src/rpc/channel.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import {
  block,
  type Frame,
  frame,
  headers,
  isType,
  message,
  REQUEST,
  rawClient,
  reset,
  uint32,
} from "../http2/peer.js";
import { channelTo, listenHttp2 } from "../http2/serve.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { fc } from "../support/properties.js";
import { until } from "../support/until.js";

const LIMIT = 20 * 1024 ** 2;
const LARGE = 400_000;

const service = rawService({
  one: async (request) => (request[0] === 0x6c ? Buffer.alloc(LARGE) : request),
  async *download() {
    for (let sent = 0; sent < 100; sent++) yield Buffer.alloc(100_000);
  },
  async upload(requests) {
    let size = 0;
    for await (const request of requests) size += request.length;
    return Buffer.from(`${size}`);
  },
  async *chat(requests) {
    for await (const request of requests) yield request;
  },
});

async function open(t: Test, budget: MemoryBudget, serve: typeof serveHttp2 | typeof serveGrpc): Promise<Address> {
  const limits = { ...LIMITS, maxBody: 2 ** 20 };
  const server = await serve(dispatcherOf([service], { limits }), { host: "127.0.0.1", port: 0 }, limits, { budget });
  t.teardown(() => server.close(0));
  return server.address;
}

const SERVERS = [
  ["our own HTTP/2", serveHttp2],
  ["grpc-js", serveGrpc],
] as const;

for (const [name, serve] of SERVERS) {
  t.test(`${name}: responses that wait for a window are limited, and calls beyond the limit are refused`, async (t) => {
    const budget = new MemoryBudget({ limit: LIMIT });
    const peer = await rawClient(t, await open(t, budget, serve));
    peer.send(frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])));
    for (let index = 0; index < 90; index++)
      peer.send(...request(1 + 2 * index, "One", Buffer.from("large"), 100, true));
    let status: string | undefined;
    while (status === undefined)
      status = peer.fields((await peer.next(isType(FrameType.HEADERS))) as Frame)["grpc-status"];
    t.equal(status, String(Code.RESOURCE_EXHAUSTED));
    t.ok(budget.reserved <= LIMIT / 5, `${budget.reserved} bytes`);
    peer.socket.destroy();
    await until(() => budget.reserved === 0);
  });

  t.test(`${name}: unfinished requests are limited, and calls beyond the limit are refused`, async (t) => {
    const budget = new MemoryBudget({ limit: LIMIT });
    const peer = await rawClient(t, await open(t, budget, serve));
    for (let index = 0; index < 90; index++) peer.send(...request(1 + 2 * index, "One", Buffer.alloc(60_000)));
    let status: string | undefined;
    while (status === undefined)
      status = peer.fields((await peer.next(isType(FrameType.HEADERS))) as Frame)["grpc-status"];
    t.equal(status, String(Code.RESOURCE_EXHAUSTED));
    t.ok(budget.reserved <= LIMIT / 5, `${budget.reserved} bytes`);
    for (let index = 0; index < 90; index++) peer.send(reset(1 + 2 * index, ErrorCode.CANCEL));
    await until(() => budget.reserved === 0);
    t.ok(await peer.answersPing(), "the connection goes on");
  });

  t.test(
    `${name}: calls that are sent in parts, cancelled and abandoned in any order leave nothing reserved`,
    async (t) => {
      const budget = new MemoryBudget({ limit: 600_000 });
      const peer = await rawClient(t, await open(t, budget, serve));
      peer.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(2 ** 30)));
      let next = 1;
      const step = fc.record({
        method: fc.constantFrom("One", "Download", "Upload", "Chat"),
        text: fc.constantFrom("a", "large", "b".repeat(20_000), "c".repeat(60_000)),
        /** How much of it is sent, in percent. */
        sent: fc.constantFrom(0, 50, 100, 100),
        ends: fc.boolean(),
        window: fc.constantFrom(0, 1_000, 2 ** 30),
        turns: fc.nat(3),
      });
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        const first = next;
        for (const { method, text, sent, ends, window, turns } of steps) {
          const frames = request(next, method, Buffer.from(text), sent, ends);
          if (window > 0) frames.splice(1, 0, frame(FrameType.WINDOW_UPDATE, 0, next, uint32(window)));
          peer.send(...frames);
          next += 2;
          for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        }
        for (let id = first; id < next; id += 2) peer.send(reset(id, ErrorCode.CANCEL));
        await until(() => budget.reserved === 0 || peer.closed);
        assert.ok(!peer.closed, "the connection is the same for all");
      });
      await fc.assert(property, { numRuns: 30 });
    },
  );

  t.test(
    `${name}: requests of a stream are released when the endpoint has read them, while the call continues`,
    async (t) => {
      const budget = new MemoryBudget({ limit: 1_000_000 });
      const channel = channelTo(t, await open(t, budget, serve));
      const ended = await new Promise<Status>((resolve) => {
        const upload = channel.open({ path: "/raw.Raw/Upload", metadata: [] }, { onMessage() {}, onEnd: resolve });
        for (let sent = 0; sent < 40; sent++) upload.send(Buffer.alloc(50_000));
        upload.end();
      });
      t.match(ended, { code: Code.OK });
    },
  );
}

t.test(
  "an incomplete header block is limited by the memory budget, and a complete one leaves nothing reserved",
  async (t) => {
    const budget = new MemoryBudget({ limit: 100_000 });
    const peer = await rawClient(t, await open(t, budget, serveHttp2));
    const fields = REQUEST.map(([name, value]) => [name, name === ":path" ? "/raw.Raw/One" : value] as const);
    peer.send(headers(1, fields, 0), frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1));
    peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1, message(Buffer.from("a"))));
    await peer.next(({ type, flags }) => type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0);
    await until(() => budget.reserved === 0);
    peer.send(
      frame(FrameType.HEADERS, 0, 3, Buffer.alloc(16_384)),
      frame(FrameType.CONTINUATION, 0, 3, Buffer.alloc(16_384)),
    );
    const goaway = await peer.next(isType(FrameType.GOAWAY));
    t.equal(goaway?.payload.readUInt32BE(4), ErrorCode.ENHANCE_YOUR_CALM);
    t.match(goaway?.payload.toString("latin1", 8), /too large/);
    await until(() => budget.reserved === 0);
  },
);

const NO_WINDOW = frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));
const MANY = Array.from({ length: 90 }, (_, index) =>
  request(1 + 2 * index, "One", Buffer.from("a"), 100, true),
).flat();

t.test("a request that is not gRPC is reserved until it has its response", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const peer = await rawClient(t, await open(t, budget, serveHttp2));
  peer.send(headers(1, [[":method", "GET"], ...REQUEST.slice(1)]));
  t.ok(await peer.answersPing());
  t.ok(budget.reserved >= 2_048, `${budget.reserved} bytes`);
  peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1));
  await until(() => budget.reserved === 0);
});

t.test("a request that is not gRPC is reset if there is no memory for it", async (t) => {
  const peer = await rawClient(t, await open(t, new MemoryBudget({ limit: 20_000 }), serveHttp2));
  const others = Array.from({ length: 10 }, (_, index) =>
    headers(1 + 2 * index, [[":method", "GET"], ...REQUEST.slice(1)]),
  );
  peer.send(...others);
  const { payload } = (await peer.next(isType(FrameType.RST_STREAM))) as Frame;
  t.equal(payload.readUInt32BE(), ErrorCode.ENHANCE_YOUR_CALM);
  t.ok(await peer.answersPing(), "the connection goes on");
});

t.test("the metadata of an open call is reserved in its decoded size, however few bytes were sent", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const peer = await rawClient(t, await open(t, budget, serveHttp2));
  // An indexed field takes one byte; half of the fields have values that take an object each.
  const added = (name: string): Buffer => Buffer.from([0x40, name.length, ...Buffer.from(name), 0]);
  const fields = Buffer.concat([added("x"), added("x-bin"), Buffer.alloc(200, 0xbe), Buffer.alloc(200, 0xbf)]);
  peer.send(frame(FrameType.HEADERS, Flag.END_HEADERS, 1, Buffer.concat([block(REQUEST), fields])));
  t.ok(await peer.answersPing());
  const size = 201 * (1 + 32) + 201 * (5 + 32);
  t.ok(budget.reserved > size + 201 * 128, `${budget.reserved} bytes`);
  peer.send(reset(1, ErrorCode.CANCEL));
  await until(() => budget.reserved === 0);
});

t.test("small responses that wait for a window are reserved too, and calls beyond the limit are refused", async (t) => {
  const budget = new MemoryBudget({ limit: 2_000_000 });
  const dispatcher = dispatcherOf([rawService({ one: () => Buffer.alloc(3_500) })]);
  const peer = await rawClient(t, (await listenHttp2(t, dispatcher, { budget })).address);
  peer.send(NO_WINDOW, ...MANY);
  const refused = await peer.next(({ type, flags }) => type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0);
  t.equal(peer.fields(refused as Frame)["grpc-status"], String(Code.RESOURCE_EXHAUSTED));
});

t.test("large responses are reserved when they are made, before the connection writes them", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  let reserved = 0;
  const one = (): Buffer => {
    reserved = Math.max(reserved, budget.reserved);
    return Buffer.alloc(LARGE);
  };
  const peer = await rawClient(t, (await listenHttp2(t, dispatcherOf([rawService({ one })]), { budget })).address);
  peer.send(NO_WINDOW, ...MANY);
  await peer.next(({ type, flags }) => type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0);
  t.ok(reserved > 2 * LARGE, `${reserved} bytes`);
});

t.test("many large responses at once are written as the client reads, and all arrive", async (t) => {
  const peer = await rawClient(t, await open(t, new MemoryBudget(), serveHttp2));
  peer.send(frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])));
  peer.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(2 ** 30)));
  for (let id = 1; id < 180; id += 2) peer.send(...request(id, "One", Buffer.from("large"), 100, true));
  for (let ended = 0; ended < 90; ended++) {
    const trailers = await peer.next(
      ({ type, flags }) => type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0,
    );
    if (trailers === undefined) return t.fail(`the connection ended after ${ended} answers`);
  }
  t.pass("90 answers");
});

/** The frames of a request: its first `sent` percent. */
function request(id: number, method: string, bytes: Buffer, sent = 100, ends = false): Buffer[] {
  const fields = REQUEST.map(([name, value]) => [name, name === ":path" ? `/raw.Raw/${method}` : value] as const);
  const whole = message(bytes);
  const part = whole.subarray(0, (whole.length * sent) / 100);
  const frames = [headers(id, fields)];
  for (let at = 0; at < part.length; at += 16_000)
    frames.push(frame(FrameType.DATA, 0, id, part.subarray(at, at + 16_000)));
  if (ends) frames.push(frame(FrameType.DATA, Flag.END_STREAM, id));
  return frames;
}

t.test("responses that a caller receives are limited by the memory budget", async (t) => {
  const budget = new MemoryBudget({ limit: 1_000_000 });
  const { address } = await listenHttp2(t, dispatcherOf([rawService({ one: () => Buffer.alloc(2 ** 19) })]));
  const channel = channelTo(t, address, { budget });
  const ends = await Promise.all(
    Array.from(
      { length: 20 },
      () =>
        new Promise<Status>((resolve) => {
          const one = channel.open({ path: "/raw.Raw/One", metadata: [] }, { onMessage() {}, onEnd: resolve });
          one.send(Buffer.from("a"));
          one.end();
        }),
    ),
  );
  t.ok(
    ends.some(({ code }) => code === Code.UNAVAILABLE),
    "some are refused",
  );
  t.equal(budget.reserved, 0);
});
