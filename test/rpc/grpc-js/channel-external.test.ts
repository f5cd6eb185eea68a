// The channel to servers that are not ours, and to none.

import { createServer } from "node:net";
import { Metadata, Server, ServerCredentials, type ServerDuplexStream, StatusBuilder } from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { freePort } from "../../support/ports.js";
import { MALFORMED, RawService, statusOf } from "../raw-service.js";

type Answering = (call: ServerDuplexStream<Buffer, Buffer>) => void;

/** A plain grpc-js server whose one endpoint does as told. */
async function serve(t: Test, answering: Answering): Promise<GrpcChannel> {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  server.register(RawService.one.path, answering as never, same, same, "bidi");
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

const ANSWERS: [what: string, messages: Buffer[], error: { code: Code; message: string } | undefined][] = [
  ["one message", [Buffer.from("b")], undefined],
  ["no message", [], { code: Code.UNIMPLEMENTED, message: "/raw.Raw/One answered with 0 messages instead of one" }],
  [
    "many messages",
    [Buffer.from("b"), Buffer.from("c"), Buffer.from("d")],
    { code: Code.UNIMPLEMENTED, message: "/raw.Raw/One answered with 2 messages instead of one" },
  ],
  [
    "a malformed message",
    [MALFORMED],
    { code: Code.INTERNAL, message: "/raw.Raw/One answered with bytes that are not its message" },
  ],
];

for (const [what, messages, error] of ANSWERS) {
  t.test(`a unary call answered with ${what}`, async (t) => {
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
  ["a code of its own", { code: 2_027, details: "odd" }, { code: 2_027, message: "odd", protocolError: false }],
  ["a negative code", { code: -1, details: "odd" }, { code: Code.UNKNOWN, protocolError: true }],
  [
    "details that are none",
    { code: Code.ABORTED, details: "broken", metadata: trailer(Buffer.from([255])) },
    { code: Code.ABORTED, message: "broken", details: [] },
  ],
  [
    "UNAVAILABLE of its own",
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

t.test("a name that does not resolve: the call was never sent", async (t) => {
  const channel = new GrpcChannel({ host: "does-not-exist.invalid", port: 1 });
  t.teardown(() => channel.close());
  t.match(await statusOf(channel), { code: Code.UNAVAILABLE, neverSent: true });
});

t.test("a server that speaks another protocol", async (t) => {
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
