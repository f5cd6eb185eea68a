// Requests for which there is no memory are refused before memory is allocated for them. Memory
// that is allocated for a moment, or never filled, would still enlarge the process, because the
// allocator spreads later blocks over all of it.
import t from "tap";
import { Code } from "../../src/errors.js";
import { STREAM_WINDOW } from "../../src/http2/flow-control.js";
import { Flag, FrameType } from "../../src/http2/frames.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { type Frame, frame, headers, message, REQUEST, rawClient } from "../http2/peer.js";
import { listenHttp2 } from "../http2/serve.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf } from "../rpc/serve.js";

const WHOLE = 20;
const STREAMS = 70;

t.test("nothing is allocated for a refused request", async (t) => {
  const budget = new MemoryBudget({ limit: 2 ** 21 });
  const { address } = await listenHttp2(t, dispatcherOf([rawService({})]), { budget });
  const peer = await rawClient(t, address);
  const fields = REQUEST.map(([name, value]) => [name, name === ":path" ? "/raw.Raw/One" : value] as const);
  // Calls with complete messages use three quarters of what a connection may reserve; unfinished
  // ones would be given up.
  const whole = message(Buffer.alloc(15_000));
  for (let id = 1; id <= 2 * WHOLE; id += 2) peer.send(headers(id, fields), frame(FrameType.DATA, 0, id, whole));
  t.ok(await peer.answersPing());
  t.ok(budget.reserved > WHOLE * 15_000, `${budget.reserved} bytes`);
  const beginning = message(Buffer.alloc(1_000_000)).subarray(0, 1_000);
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < STREAMS; index++) {
    const id = 1 + 2 * (WHOLE + index);
    peer.send(headers(id, fields), frame(FrameType.DATA, 0, id, beginning));
  }
  // The first header block is the only one that can be decoded without earlier ones.
  const end = await peer.next(({ type, flags }) => type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0);
  t.equal(peer.fields(end as Frame)["grpc-status"], String(Code.RESOURCE_EXHAUSTED));
  t.ok(await peer.answersPing());
  const allocated = process.memoryUsage().arrayBuffers - before;
  t.ok(allocated < (STREAMS * STREAM_WINDOW) / 4, `${allocated} bytes`);
});
