// When the port stops, an HTTP/2 connection loses no request. Requests in flight get their
// responses, and the client learns which ones were not processed.
import t from "tap";
import { ErrorCode } from "../../../../src/http2/errors.js";
import { Flag, FrameType, LAST_STREAM_ID, readUint31 } from "../../../../src/http2/frames.js";
import { type Frame, frame, headers, isType, type RawPeer, rawClient } from "../../../http2/peer.js";
import { echo, held, open, response } from "../dial.js";

const GET = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/p"],
  [":authority", "x"],
] as const;
const get = (streamId: number): Buffer => headers(streamId, GET, Flag.END_HEADERS | Flag.END_STREAM);

const isPing = ({ type, flags }: Frame): boolean => type === FrameType.PING && (flags & Flag.ACK) === 0;
const lastOf = (goaway: Frame | undefined): number | undefined => goaway && readUint31(goaway.payload, 0);
const acknowledge = (peer: RawPeer, ping: Frame | undefined): void =>
  peer.send(frame(FrameType.PING, Flag.ACK, 0, ping?.payload ?? Buffer.alloc(8)));

t.test("requests in flight get their responses, also one that was on its way", async (t) => {
  const { handler, finish } = held();
  const port = await open(t, handler);
  const peer = await rawClient(t, port.address);
  peer.send(get(1));
  t.ok(await peer.answersPing());
  port.leave();
  t.equal(lastOf(await peer.next(isType(FrameType.GOAWAY))), LAST_STREAM_ID);
  const ping = await peer.next(isPing);
  peer.send(get(3));
  acknowledge(peer, ping);
  t.equal(lastOf(await peer.next(isType(FrameType.GOAWAY))), 3, "the client learns which request is the last");
  finish();
  for (const streamId of [1, 3]) t.equal((await peer.next(isType(FrameType.DATA)))?.streamId, streamId);
  await peer.ended();
});

t.test("a connection without requests is closed", async (t) => {
  const port = await open(t, echo);
  const peer = await rawClient(t, port.address);
  const closed = port.close(60_000);
  t.equal(lastOf(await peer.next(isType(FrameType.GOAWAY))), LAST_STREAM_ID);
  acknowledge(peer, await peer.next(isPing));
  t.equal(lastOf(await peer.next(isType(FrameType.GOAWAY))), 0);
  await peer.ended();
  await closed;
});

t.test("a connection that is opened while the port stops gets a response to its first request", async (t) => {
  const port = await open(t, echo);
  const peer = await rawClient(t, port.address);
  port.leave();
  peer.send(get(1));
  t.ok(await peer.next(isType(FrameType.DATA)));
  t.equal(lastOf(await peer.next(isType(FrameType.GOAWAY))), LAST_STREAM_ID);
});

t.test("requests that are still open when the time is over are rejected", async (t) => {
  const port = await open(
    t,
    (request) => new Promise((resolve) => request.onAbort(({ status }) => resolve(response("stopping", status)))),
  );
  const peer = await rawClient(t, port.address);
  peer.send(get(1));
  t.ok(await peer.answersPing());
  const closed = port.close(0);
  const head = await peer.next(isType(FrameType.HEADERS));
  t.equal(head && peer.fields(head)[":status"], "503");
  await closed;
});

t.test("after the client's GOAWAY the connection closes when its requests have their responses", async (t) => {
  const { handler, finish } = held();
  const port = await open(t, handler);
  const peer = await rawClient(t, port.address);
  peer.send(get(1), frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(8, ErrorCode.NO_ERROR)));
  t.ok(await peer.answersPing());
  finish();
  t.ok(await peer.next(isType(FrameType.DATA)));
  await peer.ended();
});
