// Random frames, in any order and in chunks of any size, to either end of a connection. Whatever
// arrives, the connection responds to the next PING or has ended. Every call ends exactly once, and
// nothing of the connection remains.

import { connect, createServer, type Socket } from "node:net";
import t from "tap";
import { Flag, FrameType, PREFACE } from "../../src/http2/frames.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { type ChannelCalls, ClientCall } from "../../src/rpc/http2/client-call.js";
import { ClientConnection } from "../../src/rpc/http2/client-connection.js";
import { requestHeaders } from "../../src/rpc/http2/headers.js";
import { GrpcServerConnection } from "../../src/rpc/http2/server-connection.js";
import { Deadlines } from "../../src/rpc/open-calls.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { deferred } from "../support/deferred.js";
import { fc } from "../support/properties.js";
import { CORPUS } from "./corpus.js";
import { block, frame, message, RawPeer, REQUEST, RESPONSE, SETTINGS, uint32 } from "./peer.js";

/**
 * The number of sequences for each end. The default fits the time of CI; a search for errors can
 * use more.
 */
const RUNS = Number(process.env.FUZZ_RUNS ?? 150);

const request = (endpoint: string) =>
  block(REQUEST.map(([name, value]) => [name, name === ":path" ? `/raw.Raw/${endpoint}` : value] as const));

const trailers = block([["grpc-status", "0"]]);

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(...["One", "Download", "Upload", "Chat", "None"].map(request)),
  fc.constantFrom(block(RESPONSE), trailers, block([...RESPONSE, ["grpc-status", "5"]]), block([[":status", "103"]])),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => message(bytes)),
  fc.constantFrom(0, 1, 8, 0x7fff_ffff, 0xffff_ffff).map(uint32),
  fc
    .tuple(fc.integer({ min: 0, max: 7 }), fc.constantFrom(0, 1, 100, 65_536, 0xffff_ffff))
    .map(([id, value]) => Buffer.concat([Buffer.from([0, id]), uint32(value)])),
  fc.constant(Buffer.alloc(8)),
  fc.constant(Buffer.alloc(16_384)),
);

const flags = fc.oneof(
  fc.constantFrom(0, Flag.END_STREAM, Flag.END_HEADERS, Flag.END_HEADERS | Flag.END_STREAM),
  fc.integer({ min: 0, max: 255 }),
);

/**
 * Mostly stream IDs that a client opens, so that sequences reach the code behind the first checks.
 */
const streamId = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(0, 1, 3, 5, 7) }, fc.constantFrom(2, 9, 0x7fff_ffff));

const type = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(FrameType.HEADERS, FrameType.DATA) },
  fc.integer({ min: 0, max: 10 }),
);

const anyFrame = fc
  .tuple(type, flags, streamId, payload)
  .map(([type, flags, streamId, payload]) => frame(type, flags, streamId, payload));

/** The bytes of a sequence, and the size of its chunks. */
const sequence = fc.record({
  bytes: fc.array(fc.oneof({ weight: 20, arbitrary: anyFrame }, fc.uint8Array({ maxLength: 30 })), { maxLength: 25 }),
  cut: fc.integer({ min: 1, max: 70_000 }),
});

type Sequence = { readonly bytes: readonly Uint8Array[]; readonly cut: number };

/** The two ends of a TCP connection. */
async function pair(): Promise<[near: Socket, far: Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const far = connect((server.address() as { port: number }).port, "127.0.0.1");
  const [near] = await new Promise<[Socket]>((resolve) => server.once("connection", (socket) => resolve([socket])));
  server.close();
  return [near, far];
}

async function play(peer: RawPeer, { bytes, cut }: Sequence): Promise<void> {
  const whole = Buffer.concat(bytes);
  for (let at = 0; at < whole.length; at += cut) {
    peer.send(whole.subarray(at, at + cut));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Ends the peer's side, so that an incomplete frame ends too. */
const closing = (peer: RawPeer) => peer.socket.end();

async function serverSurvives(sequence: Sequence): Promise<void> {
  let running = 0;
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    running++;
    return work().finally(() => {
      running--;
    });
  };
  const service = rawService({
    one: (request) => request,
    async *download(request) {
      yield request;
    },
    upload: (requests) =>
      run(async () => {
        let size = 0;
        for await (const request of requests) size += request.length;
        return Buffer.from(`${size}`);
      }),
    async *chat(requests) {
      for await (const request of requests) yield request;
    },
  });
  const [near, far] = await pair();
  const connection = new GrpcServerConnection(
    near,
    "test",
    dispatcherOf([service]),
    LIMITS,
    {
      maxAge: 60_000,
      stallTime: 60_000,
      stallCheck: 60_000,
    },
    new MemoryBudget().open("test"),
  );
  const peer = new RawPeer(far);
  peer.send(PREFACE, SETTINGS);
  await play(peer, sequence);
  closing(peer);
  await peer.ended();
  if (!near.destroyed) await new Promise((resolve) => near.once("close", resolve));
  await new Promise((resolve) => setImmediate(resolve));
  if (!connection.closed || connection.streams.size > 0) throw new Error("the connection is not over");
  if (running > 0) throw new Error(`${running} endpoints wait for requests that cannot come`);
}

async function clientSurvives(sequence: Sequence): Promise<void> {
  const [near, far] = await pair();
  const { promise: introduced, resolve: ready } = deferred();
  const options = {
    maxHeaders: 16_384,
    keepAlive: { after: 60_000, timeout: 1 },
    memory: new MemoryBudget().openUpstream(),
  } as const;
  const connection = new ClientConnection(near, options, {
    onReady: () => ready(),
    onCapacity() {},
    onDraining() {},
    onClosed() {},
  });
  const peer = new RawPeer(far, PREFACE.length);
  peer.send(SETTINGS);
  await introduced;
  const ends = [0, 0, 0, 0];
  const deadlines = new Deadlines();
  const calls: ChannelCalls = {
    waiting: [],
    deadlines,
    headersOf: requestHeaders("http", "test"),
    maxMessage: 10_000,
    maxHeaders: 16_384,
  };
  for (const index of ends.keys()) {
    const onEnd = (): void => {
      ends[index] = (ends[index] as number) + 1;
    };
    const start = { path: "/raw.Raw/Chat", metadata: [], deadlineMonotonicMs: performance.now() + 60_000 };
    const call = new ClientCall(start, { onMessage() {}, onEnd }, calls);
    connection.open(call);
    call.send(Buffer.from("a"));
    if (index % 2 === 0) call.end();
  }
  await play(peer, sequence);
  closing(peer);
  await peer.ended();
  if (!near.destroyed) await new Promise((resolve) => near.once("close", resolve));
  await new Promise((resolve) => setImmediate(resolve));
  deadlines.close();
  if (!connection.closed || connection.streams.size > 0) throw new Error("the connection is not over");
  if (ends.some((count) => count !== 1)) throw new Error(`the calls ended ${ends.join(", ")} times`);
}

const ENDS = [
  ["server", serverSurvives],
  ["client", clientSurvives],
] as const;

for (const [end, survives] of ENDS) {
  t.test(`the ${end} survives the frames of the corpus`, async (t) => {
    for (const bytes of CORPUS)
      for (const cut of [1, 9, 70_000]) await survives({ bytes: [Buffer.from(bytes, "hex")], cut });
    t.pass(`${CORPUS.length} sequences`);
  });

  t.test(`the ${end} survives any frames`, async (t) => {
    await fc.assert(fc.asyncProperty(sequence, survives), { numRuns: RUNS });
    t.pass(`${RUNS} sequences`);
  });
}

t.test("sockets and timers do not grow with the number of connections", async (t) => {
  const runs = async (count: number): Promise<number> => {
    for (const one of fc.sample(sequence, count)) await serverSurvives(one);
    return process.getActiveResourcesInfo().filter((kind) => /^(TCP|Timeout|Immediate)/.test(kind)).length;
  };
  const before = await runs(20);
  const after = await runs(60);
  t.ok(after <= before + 5, `${before} handles after 20 sequences, ${after} after 80`);
});
