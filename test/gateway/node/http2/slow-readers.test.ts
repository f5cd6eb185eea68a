// An HTTP/2 client that does not read: the data that waits for it is reserved, limited, and does
// not wait for ever.
import t, { type Test } from "tap";
import type { BodySink } from "../../../../gateway/http/body.js";
import type { HttpError } from "../../../../gateway/http/errors.js";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { ErrorCode } from "../../../../src/http2/errors.js";
import { Flag, FrameType } from "../../../../src/http2/frames.js";
import { MemoryBudget } from "../../../../src/memory/memory-budget.js";
import { frame, headers, isType, type RawPeer, rawClient, uint32 } from "../../../http2/peer.js";
import { deferred } from "../../../support/deferred.js";
import { until } from "../../../support/until.js";
import { held, response, open as serve } from "../dial.js";

const GET = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/p"],
  [":authority", "x"],
] as const;
const get = (streamId: number): Buffer => headers(streamId, GET, Flag.END_HEADERS | Flag.END_STREAM);

const LARGE = response("x".repeat(1_000_000));

async function open(t: Test, handler: RequestHandler, options: Parameters<typeof serve>[2] = {}): Promise<RawPeer> {
  const { address } = await serve(t, handler, options);
  return rawClient(t, address);
}

/** Increases the windows of the connection and of stream 1 by this many bytes. */
const widen = (bytes: number): Buffer =>
  Buffer.concat([0, 1].map((streamId) => frame(FrameType.WINDOW_UPDATE, 0, streamId, uint32(bytes))));

t.test(
  "a response is written only as far as the client's window allows, and is reserved until it is read",
  async (t) => {
    const budget = new MemoryBudget();
    const handler: RequestHandler = (request) =>
      request.tryReserveResponse(LARGE.length) ? LARGE : response("none", 503);
    const peer = await open(t, handler, { budget });
    peer.send(get(1));
    let read = 0;
    for (; read < 65_535; ) read += (await peer.next(isType(FrameType.DATA)))?.payload.length ?? Number.NaN;
    t.equal(read, 65_535);
    t.ok(budget.reserved >= LARGE.length, `${budget.reserved} bytes are reserved`);
    peer.send(widen(LARGE.length));
    for (; read < LARGE.length; ) read += (await peer.next(isType(FrameType.DATA)))?.payload.length ?? Number.NaN;
    t.equal(read, LARGE.length);
    await until(() => budget.reserved === 0);
  },
);

t.test("the headers of a request are reserved until its response", async (t) => {
  const budget = new MemoryBudget();
  const { handler, finish } = held();
  const peer = await open(t, handler, { budget });
  peer.send(headers(1, [...GET, ["x-large", "v".repeat(10_000)]], Flag.END_HEADERS | Flag.END_STREAM));
  t.ok(await peer.answersPing());
  t.ok(budget.reserved > 10_000, `${budget.reserved} bytes are reserved`);
  finish();
  await until(() => budget.reserved === 0);
});

t.test("the stream of a client that reads nothing for long is reset, and its request ends", async (t) => {
  const budget = new MemoryBudget();
  const peer = await open(t, () => LARGE, { budget, stallMs: 300 });
  peer.send(get(1));
  const reset = await peer.next(isType(FrameType.RST_STREAM));
  t.equal(reset?.payload.readUInt32BE(), ErrorCode.CANCEL);
  t.ok(await peer.answersPing(), "the connection goes on");
  t.equal(budget.reserved, 0);
});

t.test("a stream whose client does not read is reset where there is no memory for it", async (t) => {
  const { promise: sink, resolve: opened } = deferred<BodySink>();
  const { promise: aborted, resolve: abort } = deferred<HttpError>();
  const budget = new MemoryBudget({ limit: 1_000_000 });
  const peer = await open(
    t,
    (request) => {
      request.onAbort(abort);
      return { status: 200, headers: [], body: { open: opened, onDrain() {} }, length: 0 };
    },
    { budget },
  );
  peer.send(get(1));
  const writer = await sink;
  // This source ignores the result of `write`.
  for (let count = 0; count < 10; count++) writer.write(Buffer.alloc(100_000));
  t.equal((await aborted).status, 503);
  t.ok(await peer.next(isType(FrameType.RST_STREAM)));
  t.ok(budget.reserved < 100_000, `${budget.reserved} bytes are still reserved`);
});

t.test("where memory is short a request is rejected, and the connection stays open", async (t) => {
  const budget = new MemoryBudget({ limit: 100_000 });
  const faults: (number | undefined)[] = [];
  const peer = await open(
    t,
    (request) => {
      faults.push(request.error?.status);
      return request.error === undefined ? new Promise(() => {}) : response("refused", request.error.status);
    },
    { budget },
  );
  peer.send(...Array.from({ length: 100 }, (_, index) => get(1 + 2 * index)));
  t.ok(await peer.answersPing());
  t.equal(faults.length, 100);
  t.ok(faults.includes(503));
  t.ok(budget.reserved <= 50_000, `${budget.reserved} bytes are reserved`);
});
