// What a hostile HTTP/2 client may do before the port closes its connection. The limits are defined
// in src/http2. These tests show that the port applies them, and that its handler gets no more
// requests than they allow.
import t from "tap";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { ErrorCode } from "../../../../src/http2/errors.js";
import { Flag, FrameType } from "../../../../src/http2/frames.js";
import { frame, headers, isType, type RawPeer, rawClient, reset } from "../../../http2/peer.js";
import { echo, held, open, response } from "../dial.js";

const GET = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/p"],
  [":authority", "x"],
] as const;
const END = Flag.END_HEADERS | Flag.END_STREAM;
const get = (streamId: number): Buffer => headers(streamId, GET, END);

const goawayCode = async (peer: RawPeer): Promise<number | undefined> =>
  (await peer.next(isType(FrameType.GOAWAY)))?.payload.readUInt32BE(4);

t.test("rapid reset (CVE-2023-44487): requests end with the stream, and their number is limited", async (t) => {
  let count = 0;
  let highest = 0;
  const handler: RequestHandler = (request) => {
    if (request.error !== undefined) return echo(request);
    highest = Math.max(highest, ++count);
    return new Promise((resolve) => {
      request.onAbort(({ status }) => {
        count--;
        resolve(response("gone", status));
      });
    });
  };
  const { address } = await open(t, handler);
  const peer = await rawClient(t, address);
  const pair = (index: number): Buffer[] => [get(1 + 2 * index), reset(1 + 2 * index, ErrorCode.CANCEL)];
  peer.send(...Array.from({ length: 900 }, (_, index) => pair(index)).flat());
  t.ok(await peer.answersPing(), "900 go through");
  t.equal(count, 0, "none of them is still called");
  peer.send(...Array.from({ length: 500 }, (_, index) => pair(900 + index)).flat());
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM, "1400 do not");
  t.equal(highest, 1, "calls at once");
});

t.test("a flood of PINGs closes the connection", async (t) => {
  const { address } = await open(t, echo);
  const peer = await rawClient(t, address);
  peer.send(...Array.from({ length: 1400 }, () => frame(FrameType.PING, 0, 0, Buffer.alloc(8))));
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM);
  await peer.ended();
});

t.test("of more than 100 requests at once the excess is refused, and the others get responses", async (t) => {
  const { handler, finish } = held();
  const { address } = await open(t, handler);
  const peer = await rawClient(t, address);
  peer.send(...Array.from({ length: 101 }, (_, index) => get(1 + 2 * index)));
  const refused = await peer.next(isType(FrameType.RST_STREAM));
  t.equal(refused?.streamId, 201);
  t.equal(refused?.payload.readUInt32BE(), ErrorCode.REFUSED_STREAM);
  finish();
  for (let count = 0; count < 100; count++) t.ok(await peer.next(isType(FrameType.HEADERS)));
});

t.test("headers that do not end in time close the connection", async (t) => {
  const { address } = await open(t, echo, { headerTime: 100 });
  const peer = await rawClient(t, address);
  peer.send(headers(1, GET, 0));
  t.equal(await goawayCode(peer), ErrorCode.ENHANCE_YOUR_CALM);
  await peer.ended();
});

t.test("a connection without requests is closed after the idle time, a connection with a request is not", async (t) => {
  const { handler } = held();
  const { address } = await open(t, handler, { keepAlive: 100 });
  const busy = await rawClient(t, address);
  busy.send(get(1));
  const idle = await rawClient(t, address);
  t.equal(await goawayCode(idle), ErrorCode.NO_ERROR);
  await idle.ended();
  t.ok(await busy.answersPing());
  t.notOk(busy.frames.some(isType(FrameType.GOAWAY)));
});
