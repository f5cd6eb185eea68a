// The channel with servers that are not Portico's, and without a server.

import { createServer } from "node:net";
import { Metadata, Server, ServerCredentials, type ServerDuplexStream, StatusBuilder } from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { freePort } from "../../support/ports.js";
import { MALFORMED, RawService, statusOf } from "../raw-service.js";

type Handler = (call: ServerDuplexStream<Buffer, Buffer>) => void;

/** Starts a plain grpc-js server with one endpoint, and connects a channel to it. */
async function serve(t: Test, handler: Handler): Promise<GrpcChannel> {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  server.register(RawService.one.path, handler as never, same, same, "bidi");
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
  const channel = new GrpcChannel({ host: "127.0.0.1", port });
  t.teardown(() => {
    channel.close();
    server.forceShutdown();
  });
  return channel;
}

const call = (channel: GrpcChannel) => unary(channel, RawService.one, Buffer.from("a"));

const RESPONSES: [what: string, messages: Buffer[], error: { code: Code; message: string } | undefined][] = [
  ["one message", [Buffer.from("b")], undefined],
  ["no message", [], { code: Code.UNIMPLEMENTED, message: "/raw.Raw/One responded with 0 messages instead of one" }],
  [
    "many messages",
    [Buffer.from("b"), Buffer.from("c"), Buffer.from("d")],
    { code: Code.UNIMPLEMENTED, message: "/raw.Raw/One responded with 2 messages instead of one" },
  ],
  [
    "a malformed message",
    [MALFORMED],
    { code: Code.INTERNAL, message: "/raw.Raw/One responded with bytes that are not its message" },
  ],
];

for (const [what, messages, error] of RESPONSES) {
  t.test(`a unary call gets ${what}`, async (t) => {
    const channel = await serve(t, (call) => {
      for (const message of messages) call.write(message);
      call.end();
    });
    if (error === undefined) t.equal(`${await call(channel)}`, "b");
    else await t.rejects(call(channel), error);
  });
}

const trailer = (bytes: Buffer): Metadata => {
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", bytes);
  return metadata;
};

const FAILURES: [what: string, sent: { code: number; details: string; metadata?: Metadata }, told: object][] = [
  [
    "a code that gRPC does not define",
    { code: 2_027, details: "odd" },
    { code: 2_027, message: "odd", protocolError: false },
  ],
  ["a negative code", { code: -1, details: "odd" }, { code: Code.UNKNOWN, protocolError: true }],
  [
    "malformed details",
    { code: Code.ABORTED, details: "broken", metadata: trailer(Buffer.from([255])) },
    { code: Code.ABORTED, message: "broken", details: [] },
  ],
  [
    "UNAVAILABLE from the service itself",
    { code: Code.UNAVAILABLE, details: "later" },
    { code: Code.UNAVAILABLE, message: "later", neverSent: undefined },
  ],
];

for (const [what, sent, told] of FAILURES) {
  t.test(`a call that ends with ${what}`, async (t) => {
    const { code, details, metadata = new Metadata() } = sent;
    const built = new StatusBuilder().withCode(code).withDetails(details).withMetadata(metadata).build();
    const channel = await serve(t, (call) => call.emit("error", built));
    t.match(await statusOf(channel), told);
  });
}

t.test("no server: the call was never sent, and the message names no address", async (t) => {
  const channel = new GrpcChannel({ host: "127.0.0.1", port: await freePort() });
  t.teardown(() => channel.close());
  const gone = { code: Code.UNAVAILABLE, message: "the service cannot be reached", neverSent: true };
  t.match(await statusOf(channel), gone);
  t.equal(channel.state, "broken");
});

t.test("a host name that does not resolve: the call was never sent", async (t) => {
  const channel = new GrpcChannel({ host: "does-not-exist.invalid", port: 1 });
  t.teardown(() => channel.close());
  t.match(await statusOf(channel), { code: Code.UNAVAILABLE, neverSent: true });
});

t.test("a server that speaks another protocol: the message names no address", async (t) => {
  const listener = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => listener.once("listening", resolve));
  t.teardown(() => listener.close());
  const channel = new GrpcChannel({ host: "127.0.0.1", port: (listener.address() as { port: number }).port });
  t.teardown(() => channel.close());
  const { code, message } = await statusOf(channel);
  t.equal(code, Code.UNAVAILABLE);
  t.notMatch(message, /127\.0\.0\.1/);
});

t.test("metadata that cannot be sent ends the call, and does not throw", async (t) => {
  const channel = await serve(t, (call) => call.end());
  t.match(await statusOf(channel, [["no name", "x"]]), { code: Code.INTERNAL, message: /metadata cannot be sent/ });
});
