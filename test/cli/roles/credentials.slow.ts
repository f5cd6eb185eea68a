// An external service that refuses callers without a credential and a client certificate, behind
// `portico server` and behind a gateway alone. Another service tries to get the same credential.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServiceDefinition,
  status,
} from "@grpc/grpc-js";
import { load } from "@grpc/proto-loader";
import t, { type Test } from "tap";
import { parseGrpcTarget } from "../../../src/address/address.js";
import { Code } from "../../../src/errors.js";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from "../../../src/gen/grpc/reflection/v1/reflection.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { answered, call, type Portico, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const SECRET = "s3cr3t-0f-the-0perat0r";
const authority = createAuthority("authority");
const [greeter, client] = [authority.issue("greeter.example"), authority.issue("portico")];
const built = join(t.testdir({}), "greeter.binpb");
execFileSync("node_modules/.bin/buf", ["build", "examples/external-greeter", "-o", built]);
const files = fromBinary(FileDescriptorSetSchema, readFileSync(built)).file.map((file) =>
  Buffer.from(toBinary(FileDescriptorProtoSchema, file)),
);
const { "foreign.Greeter": definition } = await load("examples/external-greeter/greeter.proto");

/** Serves until the test ends. `shown` has the credential of each call, reflection included. */
async function serve(t: Test, accepted: () => string | undefined) {
  const shown: { path: string; authorization: unknown }[] = [];
  const server = new Server({
    interceptors: [
      ({ path }, inner) =>
        new ServerInterceptingCall(inner, {
          start: (next) =>
            next({
              onReceiveMetadata(metadata, pass) {
                const [authorization] = metadata.get("authorization");
                shown.push({ path, authorization });
                const expected = accepted();
                if (expected === undefined || authorization === `Bearer ${expected}`) pass(metadata);
                else inner.sendStatus({ code: status.UNAUTHENTICATED, details: "invalid token" });
              },
            }),
        }),
    ],
  });
  server.addService(definition as ServiceDefinition, {
    greet: (_call: unknown, respond: (error: null, value: object) => void) => respond(null, { greeting: "Greetings" }),
  });
  server.addService(ServerReflectionService, { serverReflectionInfo: reflect });
  const keys = [{ cert_chain: greeter.cert, private_key: greeter.key }];
  const credentials = ServerCredentials.createSsl(authority.cert, keys, true);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  t.teardown(() => server.forceShutdown());
  return { target: `grpcs://127.0.0.1:${port}`, port, shown };
}

function reflect(call: ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>): void {
  call.on("data", ({ messageRequest }: ServerReflectionRequest) => {
    const messageResponse: ServerReflectionResponse["messageResponse"] =
      messageRequest?.$case === "listServices"
        ? { $case: "listServicesResponse", value: { service: [{ name: "foreign.Greeter" }] } }
        : { $case: "fileDescriptorResponse", value: { fileDescriptorProto: files } };
    call.write({ validHost: "", originalRequest: undefined, messageResponse });
  });
  call.on("end", () => call.end());
}

/** The folder of credentials of one process. */
function credentialsIn(folder: string, targets: string): string {
  mkdirSync(folder);
  const files = { "ca.pem": authority.cert, "own.pem": client.cert, "own.key": client.key, token: `${SECRET}\n` };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, "token.targets"), targets);
  return folder;
}

const roles = {
  server: async (env: Record<string, string>) => [await start(["server", "--services", "none"], env)],
  gateway: async (env: Record<string, string>, own: string) => {
    const authority = await start(["authority"], env);
    const joining = { ...env, PORTICO_AUTHORITY: authority.address("gRPC"), PORTICO_CREDENTIALS: own };
    return [await start(["gateway"], joining), authority];
  },
};

for (const [role, open] of Object.entries(roles)) {
  t.test(`behind a ${role}, a service with a credential and TLS of its own`, async (t) => {
    let accepted = SECRET;
    const shop = await serve(t, () => accepted);
    const thief = await serve(t, () => undefined);
    const folder = t.testdir({});
    const targets = `127.0.0.1:${shop.port}\ngreeter.example\n`;
    // Each process has a folder of its own. In `server` there is one process.
    const [ofAuthority, ofGateway] = ["authority", "gateway"].map((name) => credentialsIn(join(folder, name), targets));
    const data = await installation(join(folder, "data"));
    const options = {
      ca: "ca.pem",
      cert: "own.pem",
      key: "own.key",
      serverName: "greeter.example",
      credential: "token",
    };
    const services = [
      { name: "greeter", target: shop.target, ...options },
      // The service refuses its reading, so it never joins.
      { name: "bare", target: shop.target, ...options, credential: undefined },
      { name: "thief", target: thief.target, ...options, bindings: { prefix: "/thief-api" } },
    ];
    writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
    const env = { PORTICO_DATA: data, PORTICO_CREDENTIALS: ofAuthority as string, PORTICO_LOG_LEVEL: "trace" };
    const processes: Portico[] = await open(env, ofGateway as string);
    t.teardown(() => Promise.all(processes.map((portico) => portico.stop())));
    const [front] = processes as [Portico];
    const anyone = (headers = {}) => call(`${front.address("HTTP")}/greeter/greet`, {}, headers);
    await answered(() => anyone(), 200);
    t.same((await anyone()).body, { greeting: "Greetings" });
    t.equal((await anyone({ authorization: "Bearer of-the-caller" })).status, 200);
    t.same(
      [...new Set(shop.shown.flatMap(({ authorization }) => authorization ?? []))],
      [`Bearer ${SECRET}`],
      "never the caller's",
    );
    t.ok(shop.shown.some(({ path }) => path.startsWith("/grpc.reflection")));

    if (role === "server") {
      const channel = new Http2Channel(parseGrpcTarget(front.address("gRPC")));
      t.teardown(() => channel.close());
      const ended = await new Promise<{ code: Code }>((onEnd) => {
        const sent = channel.open({ path: "/foreign.Greeter/Greet", metadata: [] }, { onMessage() {}, onEnd });
        sent.send(Buffer.alloc(0));
        sent.end();
      });
      t.equal(ended.code, Code.OK, "the gRPC port calls it too");
    }

    const used = role === "server" ? ofAuthority : ofGateway;
    accepted = "renewed";
    writeFileSync(join(used as string, "token"), "renewed");
    await until(async () => (await anyone()).status === 200, { within: 2_000 });
    writeFileSync(join(used as string, "token.targets"), "elsewhere.example");
    await until(async () => (await anyone()).status === 503, { within: 2_000 });
    const { body } = await anyone();
    t.notMatch(JSON.stringify(body), /token|elsewhere|credential/, "a caller gets no reason");

    const printed = () => processes.map((portico) => portico.output() + portico.errors()).join("\n");
    for (const service of ["greeter", "thief"])
      await until(() => new RegExp(`"service":"${service}".*token\\.targets does not list`).test(printed()));
    t.match(printed(), /"service":"bare".*invalid token; set \\"credential\\" of the service, or correct its file/);
    t.same(thief.shown, [], "the other service was not called at all");
    const listed = await call(`${front.address("HTTP")}/registry/list`, {});
    const metrics = await (await fetch(front.address("Metrics"))).text();
    const everything = printed() + JSON.stringify(listed.body) + metrics;
    for (const secret of [SECRET, "renewed", "PRIVATE KEY"]) t.notMatch(everything, secret);
    t.match(metrics, "portico_requests_total");
  });
}
