import t from "tap";
import { FrameReader, FrameType } from "../../src/http2/frames.js";
import { frame } from "./peer.js";

const SENT = [
  frame(FrameType.SETTINGS, 0, 0),
  frame(FrameType.DATA, 1, 0x7fff_ffff, Buffer.from("hello")),
  frame(FrameType.PING, 0, 0, Buffer.alloc(8, 1)),
  frame(0xee, 0xff, 3, Buffer.alloc(300, 2)),
  frame(FrameType.DATA, 0, 5, Buffer.alloc(16_384, 3)),
  frame(FrameType.WINDOW_UPDATE, 0, 1, Buffer.alloc(4, 4)),
];

function read(chunks: readonly Buffer[]): Buffer[] {
  const frames: Buffer[] = [];
  const reader = new FrameReader({
    onFrame: (type, flags, streamId, buffer, start, end) => {
      frames.push(frame(type, flags, streamId, buffer.subarray(start, end)));
    },
  });
  for (const chunk of chunks) reader.read(chunk);
  return frames;
}

const whole = Buffer.concat(SENT);

t.test("frames are the same whatever the size of the chunks", async (t) => {
  t.same(read([whole]), SENT);
  for (const size of [1, 2, 7, 8, 9, 10, 100, 5_000]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
      whole.subarray(index * size, (index + 1) * size),
    );
    t.same(read(chunks), SENT, `in chunks of ${size}`);
  }
  for (let cut = 0; cut < 400; cut++) {
    t.ok(Buffer.concat(read([whole.subarray(0, cut), whole.subarray(cut)])).equals(whole), `cut at ${cut}`);
  }
});

t.test("the reserved bit before a stream ID is ignored", async (t) => {
  const bytes = frame(FrameType.DATA, 0, 1);
  bytes[5] = 0x80;
  t.same(read([bytes]), [frame(FrameType.DATA, 0, 1)]);
});

t.test("a frame that is too large is refused when its header has arrived", async (t) => {
  const header = frame(FrameType.DATA, 0, 1, Buffer.alloc(16_385)).subarray(0, 9);
  t.throws(() => read([header]), { code: 0x6 });
  t.throws(() => read([header.subarray(0, 4), header.subarray(4)]), { code: 0x6 });
});

t.test("a reader that was stopped reads nothing more", async (t) => {
  const seen: number[] = [];
  const reader = new FrameReader({
    onFrame: (type) => {
      seen.push(type);
      reader.stopped = true;
    },
  });
  reader.read(whole);
  t.same(seen, [FrameType.SETTINGS]);
});
