// Streams of a connection write in turns: a large response does not delay small ones.
import t from "tap";
import { Flag, FrameType } from "../../src/http2/frames.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf } from "../rpc/serve.js";
import { frame, headers, message, REQUEST, rawClient, uint32 } from "./peer.js";
import { listenHttp2 } from "./serve.js";

t.test("a small response is sent before the rest of a large one", async (t) => {
  const service = rawService({ one: (request) => Buffer.alloc(request[0] === 0x6c ? 4_000_000 : 1) });
  const peer = await rawClient(t, (await listenHttp2(t, dispatcherOf([service]))).address);
  const call = (id: number, request: string): Buffer[] => [
    headers(id, REQUEST),
    frame(FrameType.DATA, Flag.END_STREAM, id, message(Buffer.from(request))),
  ];
  peer.send(
    frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])),
    frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(2 ** 30)),
    ...call(1, "large"),
    ...call(3, "small"),
  );
  const ended: (number | undefined)[] = [];
  while (ended.length < 2) {
    const end = await peer.next(({ flags, type }) => type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0);
    ended.push(end?.streamId);
  }
  t.same(ended, [3, 1]);
});
