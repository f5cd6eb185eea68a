// A response is complete, and its client does not read it: the server does not wait forever.
import { connect, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { ErrorCode } from "../../src/http2/errors.js";
import { Flag, FrameType, PREFACE } from "../../src/http2/frames.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { GrpcServerConnection } from "../../src/rpc/http2/server-connection.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { frame, headers, isType, message, RawPeer, REQUEST, SETTINGS, uint32 } from "./peer.js";

const STALL = 400;
const STALL_CHECK = 10;

/**
 * A client of a service whose responses are larger than a window, and the connection that serves
 * it.
 */
async function open(t: Test, budget = new MemoryBudget(), method = "One", stallCheck = STALL_CHECK) {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const socket = connect((server.address() as { port: number }).port, "127.0.0.1");
  const near = await new Promise<Socket>((resolve) => server.once("connection", resolve));
  server.close();
  t.teardown(() => socket.destroy());
  const service = rawService({
    one: () => Buffer.alloc(100_000),
    async *download() {
      for (;;) yield Buffer.alloc(10_000);
    },
  });
  const times = { maxAge: 60_000, stallTime: STALL, stallCheck };
  const connection = new GrpcServerConnection(
    near,
    "test",
    dispatcherOf([service]),
    LIMITS,
    times,
    budget.open("test"),
  );
  const peer = new RawPeer(socket);
  const fields = REQUEST.map(([name, value]) => [name, name === ":path" ? `/raw.Raw/${method}` : value] as const);
  peer.send(PREFACE, SETTINGS, headers(1, fields));
  peer.send(frame(FrameType.DATA, Flag.END_STREAM, 1, message(Buffer.from("a"))));
  return { connection, peer };
}

t.test("the stream of a response that is not read is reset, and the connection stays open", async (t) => {
  const { connection, peer } = await open(t);
  t.equal((await peer.next(isType(FrameType.RST_STREAM)))?.payload.readUInt32BE(), ErrorCode.CANCEL);
  t.equal(connection.streams.size, 0);
  t.ok(await peer.answersPing());
});

t.test("a client that reads slowly gets the whole response", async (t) => {
  const { peer } = await open(t);
  let left = 100_005 - 65_535;
  for (; left > 0; left -= 5_000) {
    await new Promise((resolve) => setTimeout(resolve, STALL / 8));
    peer.send(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(5_000)), frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(5_000)));
  }
  const ends = [FrameType.RST_STREAM, FrameType.HEADERS] as number[];
  let last = await peer.next(({ type }) => ends.includes(type));
  if ((last?.flags ?? 0) & Flag.END_STREAM) t.fail("no headers");
  last = await peer.next(({ type }) => ends.includes(type));
  t.equal(last?.type, FrameType.HEADERS, "the trailers");
});

t.test("an open stream is reset when the client has read nothing at 30 checks", async (t) => {
  const start = performance.now();
  const { connection, peer } = await open(t, new MemoryBudget(), "Download");
  t.equal((await peer.next(isType(FrameType.RST_STREAM)))?.payload.readUInt32BE(), ErrorCode.CANCEL);
  t.ok(performance.now() - start >= 29 * STALL_CHECK, "not before");
  t.equal(connection.streams.size, 0);
});

t.test("while memory is short, an open stream that is not read is reset at the first check", async (t) => {
  const budget = new MemoryBudget({ limit: 10_000_000 });
  t.ok(budget.openUpstream().tryReserve(4_999_000));
  for (const address of ["a", "b", "c"]) t.ok(budget.open(address).tryReserve(16_000));
  t.ok(budget.isShort);
  const { peer } = await open(t, budget, "Download", 3_000);
  t.equal((await peer.next(isType(FrameType.RST_STREAM)))?.payload.readUInt32BE(), ErrorCode.CANCEL);
});

t.test("the stream of an HTTP error response that is not read is reset", async (t) => {
  const { peer } = await open(t);
  const fields = REQUEST.map(([name, value]) => [name, name === ":method" ? "GET" : value] as const);
  peer.send(frame(FrameType.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])));
  peer.send(headers(3, fields, Flag.END_HEADERS | Flag.END_STREAM));
  const reset = await peer.next(({ type, streamId }) => type === FrameType.RST_STREAM && streamId === 3);
  t.equal(reset?.payload.readUInt32BE(), ErrorCode.CANCEL);
});
