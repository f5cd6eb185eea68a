import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { Code, StatusError } from "../../../src/errors.js";
import { HealthService, HealthCheckResponse_ServingStatus as Serving } from "../../../src/gen/grpc/health/v1/health.js";
import { FrameType } from "../../../src/http2/frames.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../../src/rpc/grpc-js/server.js";
import type { Context } from "../../../src/rpc/service.js";
import { isType, rawClient } from "../../http2/peer.js";
import { deferred } from "../../support/deferred.js";
import { inTime } from "../../support/until.js";
import { collectHalfHours } from "../ages.js";
import { RawService, rawService } from "../raw-service.js";
import { dispatcherOf, LIMITS, listen } from "../serve.js";

const ANY_PORT = { host: "127.0.0.1", port: 0 };

function channelTo(t: Test, address: { host: string; port: number }): GrpcChannel {
  const channel = new GrpcChannel(address);
  t.teardown(() => channel.close());
  return channel;
}

/** A service whose calls wait for `release`. */
function waiting() {
  let begun: () => void = () => {};
  const { promise: released, resolve: release } = deferred();
  const reached = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const service = rawService({
    async one(request) {
      begun();
      await released;
      return request;
    },
  });
  return { service, reached, release };
}

t.test("port 0 is replaced by a free port", async (t) => {
  const { address } = await listen(t, dispatcherOf([rawService({ one: (request) => request })]));
  t.match(address, { host: "127.0.0.1", port: Number });
  t.not(address.port, 0);
  t.equal(`${await unary(channelTo(t, address), RawService.one, Buffer.from("a"))}`, "a");
});

t.test("the endpoint gets the peer's address, also over IPv6", async (t) => {
  let peer = "";
  const service = rawService({
    one(request, { clientAddress }: Context) {
      peer = clientAddress;
      return request;
    },
  });
  for (const host of ["127.0.0.1", "::1"]) {
    const server = await serveGrpc(dispatcherOf([service]), { host, port: 0 }, LIMITS);
    t.teardown(() => server.close(0));
    await unary(channelTo(t, server.address), RawService.one, Buffer.from("a"));
    t.equal(peer, host);
  }
});

t.test("the error for a port in use names the port", async (t) => {
  const { address } = await listen(t, dispatcherOf([]));
  await t.rejects(serveGrpc(dispatcherOf([]), address, LIMITS), {
    message: new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${address.port}: .*EADDRINUSE`),
  });
});

t.test("close lets calls in flight finish, and accepts no more", async (t) => {
  const { service, reached, release } = waiting();
  const server = await listen(t, dispatcherOf([service]));
  const inFlight = unary(channelTo(t, server.address), RawService.one, Buffer.from("a"));
  await reached;
  const closed = server.close(10_000);
  const late = unary(channelTo(t, server.address), RawService.one, Buffer.from("b"));
  await t.rejects(late, { code: Code.UNAVAILABLE });
  release();
  t.equal(`${await inFlight}`, "a");
  await closed;
});

t.test("close ends calls that do not finish in time", async (t) => {
  const { service, reached } = waiting();
  const server = await listen(t, dispatcherOf([service]));
  const inFlight = unary(channelTo(t, server.address), RawService.one, Buffer.from("a"));
  const refused = t.rejects(inFlight, { code: Code.UNAVAILABLE });
  await reached;
  await inTime(server.close(50), "the server's end");
  await refused;
  await server.close(50);
});

t.test("close first reports NOT_SERVING to health watches", async (t) => {
  const server = await listen(t, dispatcherOf([rawService({})]));
  const { send, end, responses } = stream(channelTo(t, server.address), HealthService.watch);
  send({ service: "" });
  end();
  const told: Serving[] = [];
  for await (const { status } of responses) {
    told.push(status);
    if (told.length === 1) void server.close(10_000);
  }
  t.same(told, [Serving.SERVING, Serving.NOT_SERVING]);
});

t.test("connections above the limit are closed", async (t) => {
  const server = await serveGrpc(dispatcherOf([]), ANY_PORT, { ...LIMITS, maxConnections: 2 });
  t.teardown(() => server.close(0));
  const sockets: Socket[] = [];
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (): Promise<Socket> => {
    const socket = connect(server.address.port, server.address.host);
    sockets.push(socket);
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    return socket;
  };
  const first = await open();
  // A server first sends a SETTINGS frame.
  await new Promise((resolve) => first.once("data", resolve));
  const second = await open();
  await new Promise((resolve) => second.once("data", resolve));
  const third = await open();
  const told = await new Promise((resolve) =>
    third.once("data", () => resolve("let in")).once("close", () => resolve("closed")),
  );
  t.equal(told, "closed");
});

t.test("a connection is drained at an age of about half an hour", async (t) => {
  const halfHours = collectHalfHours(t);
  const { address } = await listen(t, dispatcherOf([]));
  const peer = await rawClient(t, address);
  t.equal(halfHours.length, 1);
  for (const pass of halfHours) {
    pass();
    t.ok(await peer.next(isType(FrameType.GOAWAY)));
  }
});

t.test("metadata above the limit is refused", async (t) => {
  const { address } = await listen(t, dispatcherOf([rawService({ one: (request) => request })]));
  const channel = channelTo(t, address);
  const ask = (size: number) =>
    unary(channel, RawService.one, Buffer.from("a"), { metadata: [["x-large", "a".repeat(size)]] });
  t.equal(`${await ask(8_000)}`, "a");
  const message = `the metadata is larger than ${LIMITS.maxHeaders} bytes`;
  await t.rejects(ask(LIMITS.maxHeaders), { code: Code.RESOURCE_EXHAUSTED, message });
  await t.rejects(ask(100_000), "more than grpc-js and Node.js accept");
  t.equal(`${await ask(1)}`, "a");
});

t.test("a status message that cannot be encoded does not break the server", async (t) => {
  const { address } = await listen(
    t,
    dispatcherOf([
      rawService({
        one(_request, context) {
          context.setTrailers([["no trailer's name", "x"]]);
          throw new StatusError(Code.NOT_FOUND, "half a character: \ud83d");
        },
      }),
    ]),
  );
  await t.rejects(unary(channelTo(t, address), RawService.one, Buffer.from("a")), {
    code: Code.NOT_FOUND,
    message: "half a character: \ufffd",
  });
});
