// Services from the configuration are served at the gRPC port of `portico server`, with the same
// rules as at the HTTP port.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import grpc, { type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import t from "tap";
import { readAssertion } from "../../../src/access/assertions/caller-assertion.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { inTime, until } from "../../support/until.js";

interface Message {
  readonly text: string;
  readonly count: number;
}

const PROTO = "test/cli/roles/forwarded-services.proto";
const { shapes } = grpc.loadPackageDefinition(loadSync(PROTO, { defaults: true }));
const { Shapes } = shapes as unknown as Record<"Shapes", ServiceClientConstructor>;

const LARGE = { "grpc.max_receive_message_length": 16 * 1024 ** 2 };

/** The number of Hang calls that the service was asked to end. */
let cancelled = 0;

function secondsLeft(call: grpc.ServerUnaryCall<Message, Message>): number {
  return Math.round((Number(call.getDeadline()) - Date.now()) / 1000);
}

async function serveShapes(): Promise<string> {
  const server = new grpc.Server(LARGE);
  server.addService(Shapes.service, {
    one: (call: grpc.ServerUnaryCall<Message, Message>, response: grpc.sendUnaryData<Message>) => {
      const { request, metadata } = call;
      if (request.text === "assertion")
        return response(null, { text: `${metadata.get("x-portico-context")}`, count: secondsLeft(call) });
      if (request.text.length > 1000) return response(null, request);
      const told = ["x-portico-account", "x-portico-namespace", "x-tenant", "authorization", "x-other"];
      const text = told.map((name) => `${name}=${metadata.get(name)}`).join(" ");
      const trailer = new grpc.Metadata();
      trailer.set("x-tenant", "trailer");
      response(null, { text: `${request.text} ${text}`, count: request.count }, trailer);
    },
    down(call: grpc.ServerWritableStream<Message, Message>) {
      for (let count = 0; count < call.request.count; count++) call.write({ text: call.request.text, count });
      if (call.request.text !== "open") call.end();
    },
    async up(call: grpc.ServerReadableStream<Message, Message>, response: grpc.sendUnaryData<Message>) {
      let count = 0;
      for await (const message of call) count += (message as Message).count;
      response(null, { text: "sum", count });
    },
    both(call: grpc.ServerDuplexStream<Message, Message>) {
      call.on("data", (message) => {
        if (call.write(message)) return;
        call.pause();
        call.once("drain", () => call.resume());
      });
      call.on("end", () => call.end());
    },
    fail: (_: unknown, response: grpc.sendUnaryData<Message>) => {
      const metadata = new grpc.Metadata();
      metadata.set("x-tenant", "trailer");
      response({ code: grpc.status.FAILED_PRECONDITION, details: "the shapes are out", metadata });
    },
    hang: (call: grpc.ServerUnaryCall<Message, Message>) => {
      call.on("cancelled", () => cancelled++);
    },
  });
  const bind = promisify(server.bindAsync.bind(server)) as (...args: unknown[]) => Promise<number>;
  const port = await bind("127.0.0.1:0", grpc.ServerCredentials.createInsecure());
  t.teardown(() => server.forceShutdown());
  return `127.0.0.1:${port}`;
}

const data = await installation(t.testdir());
const descriptors = join(data, "shapes.binpb");
execFileSync("node_modules/.bin/buf", ["build", "test/cli/roles", "--path", PROTO, "-o", descriptors]);
const target = await serveShapes();
const limits = { callTime: "600s", maxMessage: "8MiB" };
const services = [
  { name: "shapes", target, descriptors, identity: true, metadata: ["x-tenant"], assertion: true, ...limits },
];
writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
const portico = await start(["server", "--services", "none"], { PORTICO_DATA: data });
t.teardown(() => portico.stop());
const http = portico.address("HTTP");

// biome-ignore lint/suspicious/noExplicitAny: clients loaded at run time have no types.
const client: any = new Shapes(portico.address("gRPC"), grpc.credentials.createInsecure(), LARGE);
t.teardown(() => client.close());

function metadata(entries: Record<string, string>): grpc.Metadata {
  const made = new grpc.Metadata();
  for (const [name, value] of Object.entries(entries)) made.set(name, value);
  return made;
}

async function read(stream: AsyncIterable<Message>): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

function answerOf(run: (done: (error: Error | null, response: Message) => void) => unknown): Promise<Message> {
  return inTime(
    new Promise((resolve, reject) => run((error, response) => (error ? reject(error) : resolve(response)))),
    "the service answers",
  );
}

t.test("a call reaches the service, with the metadata that the service's configuration asks for", async (t) => {
  const token = await administrator(http, data);
  let trailers: grpc.Metadata | undefined;
  const response = await answerOf((done) => {
    const sent = metadata({ ...token, "x-tenant": "acme", "x-other": "1" });
    const call = client.One({ text: "hello", count: 7 }, sent, done);
    call.on("status", (status: grpc.StatusObject) => {
      trailers = status.metadata;
    });
  });
  const told = "x-portico-account=admin x-portico-namespace=default x-tenant=acme authorization= x-other=";
  t.same(response, { text: `hello ${told}`, count: 7 });
  await until(() => trailers !== undefined);
  t.same(trailers?.get("x-tenant"), ["trailer"]);
});

t.test("streams pass in both directions, even if they are larger than every buffer", async (t) => {
  const down = await read(client.Down({ text: "d".repeat(1000), count: 2000 }));
  t.equal(down.length, 2000);
  t.same(down.at(-1), { text: "d".repeat(1000), count: 1999 });

  const sum = await answerOf((done) => {
    const up = client.Up(done);
    for (let count = 1; count <= 2000; count++) up.write({ text: "u".repeat(1000), count });
    up.end();
  });
  t.equal(sum.count, (2000 * 2001) / 2);

  const both = client.Both();
  for (let count = 0; count < 2000; count++) both.write({ text: "b".repeat(1000), count });
  both.end();
  t.equal((await read(both)).length, 2000);
});

// The gRPC port refuses an assertion that is not valid; the HTTP port does not pass it on.
for (const [port, forged] of [
  ["gRPC", {}],
  ["HTTP", { "x-portico-context": "forged" }],
] as const) {
  t.test(`the limits of the service count at the ${port} port, and it gets the caller assertion`, async (t) => {
    const token = await administrator(http, data);
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const own: any = new Shapes(portico.address(port).replace("http://", ""), grpc.credentials.createInsecure(), LARGE);
    t.teardown(() => own.close());
    const { text, count } = await answerOf((done) =>
      own.One({ text: "assertion", count: 0 }, metadata({ ...token, ...forged }), done),
    );
    const { resource, caller } = readAssertion(text) ?? {};
    t.same([resource, caller?.account], ["service:shapes:Shapes.One", "admin"]);
    t.ok(count > 580 && count <= 600, `${count} s are left`);
    const large = "l".repeat(7 * 1024 ** 2);
    t.equal((await answerOf((done) => own.One({ text: large, count: 0 }, done))).text.length, large.length);
    await t.rejects(
      answerOf((done) => own.One({ text: large + large, count: 0 }, done)),
      { code: grpc.status.RESOURCE_EXHAUSTED },
    );
  });
}

t.test("the service calls others for itself and for its caller, by examples/assertion/exchange.js", async (t) => {
  const { authorityClient, exchange } = await import(pathToFileURL("examples/assertion/exchange.js").href);
  const admin = await administrator(http, data);
  const enrolled = await call(`${http}/v1/auth/Enrolments/Create`, { name: "shapes" }, admin);
  const { secret: enrolment } = enrolled.body as { secret: string };
  const authority = authorityClient(portico.address("gRPC"));
  t.teardown(() => authority.close());
  const resource = "service:shapes:Shapes.One";
  const { text: actingFor } = await answerOf((done) =>
    client.One({ text: "assertion", count: 0 }, metadata(admin), done),
  );
  const told = async (given: object) => {
    const { metadata, lifetimeMs } = await exchange(authority, { enrolment, resource, ...given });
    t.ok(lifetimeMs > 0 && lifetimeMs <= 60_000, `it is valid for ${lifetimeMs} ms`);
    return (await answerOf((done) => client.One({ text: "hello", count: 0 }, metadata, done))).text;
  };
  t.match(await told({ actingFor }), /^hello x-portico-account=admin /);
  t.match(await told({}), /^hello x-portico-account= /);
  const refused = { code: grpc.status.UNAUTHENTICATED };
  await t.rejects(told({ actingFor: `x${actingFor.slice(1)}` }), refused, "an assertion that the service invented");
  await t.rejects(told({ actingFor, enrolment: "pte_wrong" }), refused);
});

t.test("the service's status passes with its trailers", async (t) => {
  const failed = answerOf((done) => client.Fail({ text: "", count: 0 }, done));
  const { code, details, metadata: trailers } = (await failed.catch((error) => error)) as grpc.ServiceError;
  t.same([code, details], [grpc.status.FAILED_PRECONDITION, "the shapes are out"]);
  t.same(trailers.get("x-tenant"), ["trailer"]);
});

t.test("a caller that disconnects ends the call at the service", async (t) => {
  const call = client.Hang({ text: "", count: 0 }, () => {});
  await answerOf((done) => client.One({ text: "", count: 0 }, done));
  call.cancel();
  await until(() => cancelled > 0);
  t.equal(cancelled, 1);
});

t.test("a path that no service has is UNIMPLEMENTED", async (t) => {
  const definition = { ...Shapes.service.One, path: "/shapes.Shapes/Two" };
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const Other = grpc.makeGenericClientConstructor({ Two: definition } as any, "Shapes") as any;
  const other = new Other(portico.address("gRPC"), grpc.credentials.createInsecure());
  t.teardown(() => other.close());
  await t.rejects(
    answerOf((done) => other.Two({}, done)),
    { code: grpc.status.UNIMPLEMENTED, details: "no endpoint is served at /shapes.Shapes/Two" },
  );
});

t.test("rules decide, and a deleted rule ends open streams", async (t) => {
  const admin = await administrator(http, data);
  const open = client.Down({ text: "open", count: 1 });
  const ended = once(open, "error");
  await once(open, "data");
  t.equal((await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin)).status, 200);
  const [error] = await inTime(ended, "the stream ends");
  const refused = (endpoint: string) => `Unauthorized call made to shapes:Shapes.${endpoint}`;
  t.match(error, { code: grpc.status.UNAUTHENTICATED, details: refused("Down") });
  await t.rejects(
    answerOf((done) => client.One({ text: "", count: 0 }, done)),
    { code: grpc.status.UNAUTHENTICATED, details: refused("One") },
  );
});
