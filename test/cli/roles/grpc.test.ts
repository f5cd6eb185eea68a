// A plain gRPC client reaches the same endpoints, with the same rules. Errors are gRPC statuses.
// Reflection and health work for the usual tools.
import { promisify } from "node:util";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import t from "tap";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

const data = await installation(t.testdir());
const portico = await start(["server"], { PORTICO_DATA: data, PORTICO_LOG_LEVEL: "info" });
t.teardown(() => portico.stop());
const http = portico.address("HTTP");

// biome-ignore lint/suspicious/noExplicitAny: clients loaded at run time have no types.
function client(proto: string, service: string): any {
  const loaded = loadSync(proto, { includeDirs: ["proto"], keepCase: true, oneofs: true });
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const pkg: any = grpc.loadPackageDefinition(loaded);
  const Client = service.split(".").reduce((inner, name) => inner[name], pkg);
  const made = new Client(portico.address("gRPC"), grpc.credentials.createInsecure());
  t.teardown(() => made.close());
  return made;
}

function bearer(token: string): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set("authorization", token);
  return metadata;
}

const helloworld = client("helloworld/helloworld.proto", "helloworld.Helloworld");
const hello = promisify(helloworld.Call.bind(helloworld)) as (...args: unknown[]) => Promise<unknown>;

await t.test("the default rule grants every call", async (t) => {
  t.match(await hello({ name: "Ada" }), { message: "Hello Ada", msg: "Hello Ada" });
});

await t.test("a * rule grants a call with a token, and no other", async (t) => {
  const admin = await administrator(http, data);
  const rule = { id: "onlyloggedin", scope: "*", access: "GRANTED", resource: "*:*:*" };
  t.equal((await call(`${http}/v1/auth/Rules/Create`, { rule }, admin)).status, 200);
  t.equal((await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin)).status, 200);
  const unauthorized = {
    code: grpc.status.UNAUTHENTICATED,
    details: "Unauthorized call made to helloworld:Helloworld.Call",
  };
  await t.rejects(hello({ name: "Ada" }), unauthorized);
  await t.rejects(hello({ name: "Ada" }, bearer("Bearer pta_wrong")), unauthorized);
  t.match(await hello({ name: "Ada" }, bearer(admin.authorization)), { message: "Hello Ada" });
});

await t.test("rules decide about a stream as about a call", async (t) => {
  const refused: grpc.ClientReadableStream<unknown> = helloworld.Stream({ name: "Ada", messages: 2 });
  const error = await new Promise<grpc.ServiceError>((resolve) => refused.on("error", resolve).on("data", () => {}));
  t.equal(error.code, grpc.status.UNAUTHENTICATED);
  const admin = await administrator(http, data);
  const messages: unknown[] = [];
  for await (const message of helloworld.Stream({ name: "Ada", messages: 2 }, bearer(admin.authorization))) {
    messages.push(message);
  }
  t.match(messages, [{ message: "Hello Ada" }, { message: "Hello Ada" }]);
});

await t.test(
  "the authority's endpoints refuse a caller without a login, and the endpoints for gateways refuse an administrator",
  async (t) => {
    const rules = client("portico/auth/v1/rules.proto", "portico.auth.v1.Rules");
    const list = promisify(rules.List.bind(rules)) as (...args: unknown[]) => Promise<unknown>;
    await t.rejects(list({}), { code: grpc.status.UNAUTHENTICATED });
    const policy = client("portico/auth/v1/policy.proto", "portico.auth.v1.Policy");
    const resolve = promisify(policy.BatchResolve.bind(policy)) as (...args: unknown[]) => Promise<unknown>;
    const admin = await administrator(http, data);
    await t.rejects(resolve({}, bearer(admin.authorization)), { code: grpc.status.PERMISSION_DENIED });
  },
);

await t.test("calls are counted by endpoint and code", async (t) => {
  const metrics = await (await fetch(portico.address("Metrics"))).text();
  const labels = 'service="helloworld",endpoint="helloworld:Helloworld.Call"';
  t.match(metrics, `portico_grpc_calls_total{${labels},code="OK"} 2`);
  t.match(metrics, `portico_grpc_calls_total{${labels},code="UNAUTHENTICATED"} 2`);
  t.match(metrics, `portico_grpc_call_duration_seconds_count{${labels}} 4`);
});

await t.test("health returns SERVING for a service that runs, and NOT_FOUND for others", async (t) => {
  const health = client("grpc/health/v1/health.proto", "grpc.health.v1.Health");
  const check = promisify(health.Check.bind(health)) as (...args: unknown[]) => Promise<unknown>;
  t.match(await check({ service: "helloworld.Helloworld" }), { status: 1 });
  await t.rejects(check({ service: "none" }), { code: grpc.status.NOT_FOUND });
});

for (const version of ["v1", "v1alpha"]) {
  await t.test(`reflection ${version} lists the services and returns their files`, async (t) => {
    const name = `grpc.reflection.${version}.ServerReflection`;
    const reflection = client(`grpc/reflection/${version}/reflection.proto`, name);
    const stream = reflection.ServerReflectionInfo();
    stream.write({ list_services: "" });
    stream.write({ file_containing_symbol: "helloworld.Helloworld.Call" });
    stream.end();
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const responses: any[] = [];
    for await (const response of stream) responses.push(response);
    const names = responses[0].list_services_response.service.map((service: { name: string }) => service.name);
    t.ok(names.includes("helloworld.Helloworld") && names.includes(name), names);
    t.match(String(responses[1].file_descriptor_response.file_descriptor_proto[0]), "helloworld/helloworld.proto");
  });
}

await t.test("a caller's request ID is logged only if it is short, plain, and not a token", async (t) => {
  const token = (await administrator(http, data)).authorization.slice("Bearer ".length);
  for (const id of ["a".repeat(129), "two words", token, "mine-1"]) {
    const metadata = new grpc.Metadata();
    metadata.set("x-request-id", id);
    await t.rejects(hello({ name: "Ada" }, metadata), { code: grpc.status.UNAUTHENTICATED });
  }
  await until(() => portico.errors().includes('"requestId":"mine-1"'));
  t.notMatch(portico.errors(), "a".repeat(129));
  t.notMatch(portico.errors(), "two words");
  t.notMatch(portico.errors(), token);
});
