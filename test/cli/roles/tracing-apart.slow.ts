// A trace goes through all roles: a gateway, the service that it calls, and the service that this
// one calls.
import { spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { bundleInto } from "../../support/bundle.js";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, answered, call, start } from "../../support/process.js";
import { openCollector, type ReceivedSpan } from "../../telemetry/collector.js";

const collector = await openCollector(t);
const folder = t.testdir();
const data = await installation(folder);
const program = await bundleInto(folder, "test/kit/front.ts");
const grpc = `127.0.0.1:${await freePort()}`;
const traced = { PORTICO_DATA: data, PORTICO_OTLP: collector.url, PORTICO_TRACE_SAMPLE: "0" };
const joined = { ...traced, PORTICO_AUTHORITY: grpc };
const authority = await start(["authority"], { ...traced, PORTICO_GRPC: grpc });
const [one, other, service] = await Promise.all([
  start(["gateway"], joined),
  start(["gateway"], joined),
  start(["service", "helloworld"], { ...joined, PORTICO_LOG_LEVEL: "info" }),
]);
t.teardown(() => Promise.all([authority, one, other, service].map((portico) => portico.stop())));
const admin = await administrator(one.address("HTTP"), data);
const enrolled = await call(`${one.address("HTTP")}/v1/auth/Enrolments/Create`, { name: "front" }, admin);
const front = spawn(process.execPath, [program], {
  env: { PATH: process.env.PATH, ...joined, PORTICO_ENROLMENT: (enrolled.body as { secret: string }).secret },
  stdio: ["ignore", "pipe", "inherit"],
});
t.teardown(() => front.kill("SIGKILL"));
await once(front.stdout, "data");

const traceIdOf = (digit: string): string => digit.repeat(32);
const sampled = (digit: string) => ({ traceparent: `00-${traceIdOf(digit)}-b7ad6b7169203331-01` });

/** The span of a service by its name, and its kind. */
function spanOf(digit: string, service: string, kind: ReceivedSpan["kind"], name: RegExp): ReceivedSpan {
  const found = collector.spans.filter(
    (span) =>
      span.traceId === traceIdOf(digit) &&
      span.resource["service.name"] === service &&
      span.kind === kind &&
      name.test(span.name),
  );
  if (found.length !== 1) throw new Error(`${found.length} spans of ${service}, ${kind}, ${name}`);
  return found[0] as ReceivedSpan;
}

t.test("through two gateways, and from service to service", async (t) => {
  const ask = (portico: typeof one, digit: string) =>
    call(`${portico.address("HTTP")}/front/Call`, { name: "ask helloworld" }, { ...admin, ...sampled(digit) });
  await answered(() => ask(one, "1"), 200);
  await answered(() => ask(other, "2"), 200);
  await Promise.all([one.stop(), other.stop(), service.stop()]);
  const exit = once(front, "exit");
  front.kill("SIGTERM");
  await exit;
  t.match(service.errors(), `"trace_id":"${traceIdOf("1")}"`, "the log of a service has the trace");
  const instances = new Set<unknown>();
  for (const digit of ["1", "2"]) {
    const root = spanOf(digit, "portico-gateway", "SERVER", /^POST \/front\/Call$/);
    const attempt = spanOf(digit, "portico-gateway", "CLIENT", /^helloworld\.Helloworld\/Call$/);
    const served = spanOf(digit, "front", "SERVER", /^helloworld\.Helloworld\/Call$/);
    const asked = spanOf(digit, "helloworld", "SERVER", /^helloworld\.Helloworld\/Call$/);
    t.equal(root.parentSpanId, "b7ad6b7169203331");
    t.match(attempt.attributes, { "server.address": "127.0.0.1", "server.port": Number });
    t.equal(served.parentSpanId, attempt.spanId);
    t.equal(asked.parentSpanId, served.spanId);
    t.ok(root.start <= attempt.start && attempt.end <= root.end);
    instances.add(root.resource["service.instance.id"]);
  }
  t.equal(instances.size, 2, "each gateway is an instance of its own");
});
