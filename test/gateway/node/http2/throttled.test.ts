// Requests over HTTP/2 that are rejected in an overload: how long their responses are delayed, and
// what else the client may do.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { ErrorCode } from "../../../../src/http2/errors.js";
import { STREAM_WINDOW } from "../../../../src/http2/flow-control.js";
import { Flag, FrameType, MAX_FRAME_SIZE } from "../../../../src/http2/frames.js";
import { type Frame, frame, headers, type RawPeer, rawClient, reset } from "../../../http2/peer.js";
import { inTime, until } from "../../../support/until.js";
import { open, response } from "../dial.js";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Longer than any test. */
const LONG = 3_600_000;

const fields = (method: string, path: string) =>
  [
    [":method", method],
    [":scheme", "http"],
    [":path", path],
    [":authority", "x"],
  ] as const;
const END = Flag.END_HEADERS | Flag.END_STREAM;
const get = (streamId: number, path: string): Buffer => headers(streamId, fields("GET", path), END);

/** The requests that were rejected. */
const refused: WeakRef<object>[] = [];

/** Rejects requests for /refused. */
const handler: RequestHandler = (request) => {
  if (request.target !== "/refused") return response("served");
  refused.push(new WeakRef(request));
  request.throttle?.();
  return Promise.resolve(response("", 503));
};

async function start(t: Test, maxThrottleMs: number) {
  const gateway = await open(t, handler, { maxThrottleMs });
  return { gateway, peer: await rawClient(t, gateway.address) };
}

/** The stream of the next response. */
async function answered(peer: RawPeer): Promise<number | undefined> {
  return (
    await inTime(
      peer.next(({ type }) => type === FrameType.HEADERS),
      "a response",
    )
  )?.streamId;
}

t.test("rejections are delayed, and written together when the port closes", async (t) => {
  const { gateway, peer } = await start(t, LONG);
  peer.send(get(1, "/refused"), get(3, "/refused"));
  peer.send(get(5, "/served"));
  t.equal(await answered(peer), 5, "another request of the connection is served");
  const closed = gateway.close(LONG);
  t.equal(await answered(peer), 1);
  t.equal(await answered(peer), 3);
  peer.socket.end();
  await inTime(closed, "the port's end");
});

t.test("rejections are written when their delay is over, and later ones as well", async (t) => {
  const { peer } = await start(t, 1);
  for (const streamId of [1, 3]) {
    peer.send(get(streamId, "/refused"));
    t.equal(await answered(peer), streamId);
  }
});

t.test("requests that are rejected after the port has begun to close get their response at once", async (t) => {
  const { gateway, peer } = await start(t, LONG);
  peer.send(get(1, "/served"));
  t.equal(await answered(peer), 1);
  const closed = gateway.close(LONG);
  peer.send(get(3, "/refused"));
  t.equal(await answered(peer), 3);
  peer.socket.end();
  await inTime(closed, "the port's end");
});

t.test("a rejected request may send no more of its body than before", async (t) => {
  const { peer } = await start(t, LONG);
  const isGrant = ({ type, streamId }: Frame): boolean => type === FrameType.WINDOW_UPDATE && streamId === 1;
  peer.send(headers(1, fields("POST", "/refused")));
  for (let sent = 0; sent < STREAM_WINDOW; sent += MAX_FRAME_SIZE)
    peer.send(frame(FrameType.DATA, 0, 1, Buffer.alloc(MAX_FRAME_SIZE)));
  peer.send(get(3, "/served"));
  const grantOrAnswer = await inTime(
    peer.next((seen) => isGrant(seen) || seen.type === FrameType.HEADERS),
    "the response to a later request",
  );
  t.equal(grantOrAnswer?.type, FrameType.HEADERS);
});

t.test("a request that is reset while its rejection is delayed gets no response", async (t) => {
  const { gateway, peer } = await start(t, LONG);
  peer.send(get(1, "/refused"), reset(1, ErrorCode.CANCEL), get(3, "/served"));
  t.equal(await answered(peer), 3);
  const closed = gateway.close(LONG);
  peer.socket.end();
  await inTime(closed, "the port's end");
  t.notOk(peer.frames.some(({ type }) => type === FrameType.HEADERS));
});

t.test("a request that is reset while its rejection is delayed uses no more memory", async (t) => {
  const { peer } = await start(t, LONG);
  refused.length = 0;
  const streams = Array.from({ length: 10 }, (_, index) => 2 * index + 1);
  for (const streamId of streams) peer.send(get(streamId, "/refused"), reset(streamId, ErrorCode.CANCEL));
  peer.send(get(21, "/served"));
  t.equal(await answered(peer), 21);
  await until(() => {
    collect();
    return refused.every((request) => request.deref() === undefined);
  });
  t.equal(refused.length, streams.length);
});

t.test("a client that disconnects while a rejection is delayed does not delay the end of the port", async (t) => {
  const { gateway, peer } = await start(t, LONG);
  peer.send(get(1, "/refused"), get(3, "/served"));
  t.equal(await answered(peer), 3);
  peer.socket.destroy();
  await inTime(gateway.close(0), "the port's end");
});
