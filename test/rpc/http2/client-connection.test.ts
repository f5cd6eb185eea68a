// Situations that take too long in practice: stream IDs that run out, and servers that become
// silent.
import { connect as connectTcp } from "node:net";
import t, { type Test } from "tap";
import { Flag, FrameType, LAST_STREAM_ID } from "../../../src/http2/frames.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import type { Status } from "../../../src/rpc/channel.js";
import { ClientCall } from "../../../src/rpc/http2/client-call.js";
import { ClientConnection } from "../../../src/rpc/http2/client-connection.js";
import { requestHeaders } from "../../../src/rpc/http2/headers.js";
import { Deadlines } from "../../../src/rpc/open-calls.js";
import { type Frame, frame, goaway, headers, message, RESPONSE, rawServer, SETTINGS } from "../../http2/peer.js";

const END = Flag.END_HEADERS | Flag.END_STREAM;

async function connect(t: Test, keepAlive = { after: 60_000, timeout: 60_000 }) {
  const server = await rawServer(t);
  const socket = connectTcp(server.address.port, server.address.host);
  await new Promise((resolve) => socket.once("connect", resolve));
  const events: string[] = [];
  let ready: () => void = () => {};
  const introduced = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const memory = new MemoryBudget().openUpstream();
  const connection = new ClientConnection(
    socket,
    { maxHeaders: 16_384, keepAlive, memory },
    {
      onReady(connection) {
        connection.ready = true;
        ready();
      },
      onCapacity() {},
      onDraining: (_connection, tooManyPings) => events.push(tooManyPings ? "draining: too many pings" : "draining"),
      onClosed: () => events.push("closed"),
    },
  );
  t.teardown(() => connection.destroy());
  const peer = await server.next();
  peer.send(SETTINGS);
  await introduced;
  return { connection, peer, events };
}

function open(connection: ClientConnection): Promise<Status> {
  return new Promise((resolve) => {
    const start = { path: "/a.A/B", metadata: [] };
    const headersOf = requestHeaders("http", "test");
    const calls = { deadlines: new Deadlines(), headersOf, maxMessage: 1_000, maxHeaders: 16_384 };
    const call = new ClientCall(start, { onMessage() {}, onEnd: resolve }, { ...calls, waiting: [] });
    connection.open(call);
    call.end();
  });
}

t.test("a connection without stream IDs left accepts no more calls, and ends after its last call", async (t) => {
  const { connection, peer, events } = await connect(t);
  connection.nextStreamId = LAST_STREAM_ID;
  t.equal(connection.hasCapacity, true);
  const last = open(connection);
  t.equal(connection.hasCapacity, false);
  t.same(events, ["draining"]);
  await peer.next(({ type, streamId }) => type === FrameType.HEADERS && streamId === LAST_STREAM_ID);
  peer.send(headers(LAST_STREAM_ID, [...RESPONSE, ["grpc-status", "0"]], END));
  t.match(await last, { code: 0 });
  await peer.next(({ type }) => type === FrameType.GOAWAY);
});

t.test(
  "a server that is silent during a call gets a PING, and the connection is closed when it stays silent",
  async (t) => {
    const { connection, peer, events } = await connect(t, { after: 20, timeout: 50 });
    const lost = open(connection);
    t.ok(await peer.next(({ type }) => type === FrameType.PING));
    t.match(await lost, { code: 14, message: "the connection to the service was lost" });
    t.same(events, ["closed"]);
  },
);

const isPing = ({ type, flags }: Frame): boolean => type === FrameType.PING && flags === 0;

t.test("a server that responds gets two PINGs, and two more each time it has sent HEADERS or DATA", async (t) => {
  const { connection, peer } = await connect(t, { after: 20, timeout: 60_000 });
  const call = open(connection);
  const round = async (): Promise<void> => {
    for (let ping = 0; ping < 2; ping++) {
      const { payload } = (await peer.next(isPing)) as Frame;
      peer.send(frame(FrameType.PING, Flag.ACK, 0, payload));
    }
    // Ten times as long as a third PING would take.
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.notOk(peer.frames.some(isPing), "no third PING");
  };
  await round();
  peer.send(headers(1, RESPONSE));
  await round();
  peer.send(frame(FrameType.DATA, 0, 1, message(Buffer.from("a"))));
  await round();
  peer.send(headers(1, [["grpc-status", "0"]], END));
  t.match(await call, { code: 0 });
});

t.test("a connection without calls gets no PINGs", async (t) => {
  const { connection, peer } = await connect(t, { after: 20, timeout: 60_000 });
  const call = open(connection);
  await peer.next(({ type }) => type === FrameType.HEADERS);
  peer.send(headers(1, [...RESPONSE, ["grpc-status", "0"]], END));
  t.match(await call, { code: 0 });
  // This response comes after all PINGs that were sent before the end of the call.
  t.ok(await peer.answersPing());
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.notOk(peer.frames.some(isPing));
});

t.test("a GOAWAY for too many PINGs is reported as such, and ends the connection", async (t) => {
  const { peer, events } = await connect(t);
  peer.send(goaway(0, 0xb, "too_many_pings"));
  await peer.next(({ type }) => type === FrameType.GOAWAY);
  t.same(events, ["draining: too many pings", "closed"]);
});
