// Responses that cannot be sent at once, because the operating system accepts no bytes of the
// connection. They are reserved, however small each is. A response for which there is no memory is
// dropped.
import { Duplex } from "node:stream";
import t from "tap";
import { Code } from "../../src/errors.js";
import { Flag, FrameType, PREFACE } from "../../src/http2/frames.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { GrpcServerConnection } from "../../src/rpc/http2/server-connection.js";
import { frame, headers, message, REQUEST, rawClient, SETTINGS, uint32 } from "../http2/peer.js";
import { listenHttp2 } from "../http2/serve.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";

const LARGE = 1_000_000;
/** So small that it is not reserved when it is made. */
const SMALL = 4_000;
const CALLS = 90;

const service = rawService({ one: (request) => Buffer.alloc(request[0] === 0x6c ? LARGE : SMALL) });

/** The peer's windows allow any amount. */
const WINDOWS = Buffer.concat([
  frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])),
  frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(2 ** 30)),
]);

function call(id: number, request: string): Buffer {
  return Buffer.concat([
    headers(id, REQUEST),
    frame(FrameType.DATA, Flag.END_STREAM, id, message(Buffer.from(request))),
  ]);
}

/** A socket from which the operating system accepts no bytes. */
class FullSocket extends Duplex {
  override _read(): void {}
  override _write(): void {}
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test("small responses that wait behind others are reserved", async (t) => {
  const memory = new MemoryBudget().open("test");
  const socket = new FullSocket();
  t.teardown(() => socket.destroy());
  const times = { maxAge: 60_000, stallTime: 60_000, stallCheck: 60_000 };
  const connection = new GrpcServerConnection(socket, "test", dispatcherOf([service]), LIMITS, times, memory);
  socket.push(Buffer.concat([PREFACE, SETTINGS, WINDOWS, call(1, "large")]));
  for (let turns = 0; turns < 10; turns++) await turn();
  for (let index = 1; index <= CALLS; index++) socket.push(call(1 + 2 * index, "small"));
  for (let turns = 0; turns < 10; turns++) await turn();
  t.equal(connection.streams.size, 1 + CALLS, "all wait");
  t.ok(memory.reserved > LARGE + socket.writableLength + CALLS * SMALL, `${memory.reserved} bytes`);
});

t.test("nothing is sent of a response for which there is no memory", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([service]), { budget: new MemoryBudget({ limit: LARGE }) });
  const peer = await rawClient(t, address);
  peer.send(WINDOWS, call(1, "large"));
  const response = await peer.next(({ streamId }) => streamId === 1);
  t.equal(response?.type, FrameType.HEADERS);
  t.equal(response && peer.fields(response)["grpc-status"], String(Code.RESOURCE_EXHAUSTED));
});
