// The receiver of the OpenTelemetry Collector accepts what Portico sends, and reads from it what is
// meant.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import t from "tap";
import { goModule } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { installation } from "../support/installation.js";
import { call, start } from "../support/process.js";

/** It needs minutes to build. */
t.setTimeout(900_000);

const program = FULL ? goModule("otlp-collector", "test/telemetry/otlp-collector") : undefined;
const skip = !FULL ? "TEST_FULL is not set" : program === undefined && "there is no Go here";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";

/** OTLP's JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly schemaUrl: string;
    readonly scopeSpans: readonly { readonly scope: object; readonly spans: readonly Span[] }[];
  }[];
}
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly flags: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: object;
}
interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string };
}

const read = (attributes: readonly KeyValue[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

t.test("spans, their parents, status and attributes", { skip }, async (t) => {
  const collector = spawn(program!, { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => collector.kill());
  const lines = createInterface(collector.stdout)[Symbol.asyncIterator]();
  const { value: address } = await lines.next();
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data, PORTICO_OTLP: `http://${address}` });
  t.teardown(() => portico.stop());
  const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`, tracestate: "vendor=1" };
  const http = portico.address("HTTP");
  t.equal((await call(`${http}/helloworld/call?name=Ada`, undefined, headers)).status, 200);
  t.equal((await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, headers)).status, 401);
  await portico.stop();
  const ended = once(collector, "exit");
  collector.kill();
  await ended;
  t.notMatch(portico.errors(), /spans are dropped/);
  const batches: Batch[] = [];
  for await (const line of lines) batches.push(JSON.parse(line));
  const resources = batches.flatMap(({ resourceSpans }) => resourceSpans);
  t.match(resources[0]?.schemaUrl, /^https:\/\/opentelemetry\.io\/schemas\//);
  t.match(read(resources[0]?.resource.attributes ?? []), { "service.name": "portico", "process.pid": Number });
  t.match(resources[0]?.scopeSpans[0]?.scope, { name: "portico" });
  const spans = resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
  for (const { traceId } of spans) t.equal(traceId, TRACE_ID);
  const named = (name: string, kind: number) => spans.filter((span) => span.name === name && span.kind === kind);

  const [root] = named("GET /helloworld/Call", 2) as [Span];
  t.match(root, { parentSpanId: PARENT_ID, flags: 0x301, status: {}, traceState: "vendor=1" });
  t.match(read(root.attributes), {
    "http.request.method": "GET",
    "url.path": "/helloworld/call",
    "http.route": "/helloworld/Call",
    "http.response.status_code": 200,
    "client.address": "127.0.0.1",
    "network.protocol.version": "1.1",
  });
  const [attempt] = named("helloworld.Helloworld/Call", 3) as [Span];
  t.match(read(attempt.attributes), { "rpc.system": "grpc", "rpc.grpc.status_code": 0 });
  const above = spans.find(({ spanId }) => spanId === attempt.parentSpanId);
  t.match(above, { name: "call", parentSpanId: root.spanId });
  t.match(named("helloworld.Helloworld/Call", 2), [{ parentSpanId: attempt.spanId }]);
  for (const { startTimeUnixNano, endTimeUnixNano } of spans)
    t.ok(BigInt(root.startTimeUnixNano) > 0n && BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano));

  const [refused] = named("POST /v1/helloworld/Call", 2) as [Span];
  t.match(read(refused.attributes), { "http.response.status_code": 401 });
  const [decision] = named("decide", 1).filter(({ parentSpanId }) => parentSpanId === refused.spanId) as [Span];
  t.match(decision, { status: { code: 2, message: "UNAUTHENTICATED" } });
  t.match(read(decision.attributes), { "error.type": "UNAUTHENTICATED", "portico.refusal": "NO_TOKEN" });
});
