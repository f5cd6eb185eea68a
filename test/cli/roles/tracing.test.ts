// `portico server` sends the spans of its requests to a collector. A collector that is slow or
// absent costs spans, and no call.
import t from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { call, type Portico, start } from "../../support/process.js";
import { until } from "../../support/until.js";
import { openCollector, type ReceivedSpan } from "../../telemetry/collector.js";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SAMPLED = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` };

const data = await installation(t.testdir());
const begin = (env: Record<string, string>) =>
  start(["server"], { PORTICO_DATA: data, PORTICO_LOG_LEVEL: "info", ...env });
const hello = (portico: Portico, headers = {}) =>
  call(`${portico.address("HTTP")}/helloworld/call?name=Ada`, undefined, headers);
const metrics = async (portico: Portico) => (await fetch(portico.address("Metrics"))).text();
const logLines = (portico: Portico) =>
  portico
    .errors()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

t.test("spans are sent when the process stops, at the latest", async (t) => {
  const collector = await openCollector(t);
  const portico = await begin({ PORTICO_OTLP: `${collector.url}/`, PORTICO_TRACE_SAMPLE: "1" });
  t.equal((await hello(portico, SAMPLED)).status, 200);
  t.equal((await hello(portico)).status, 200);
  await until(() => logLines(portico).some(({ trace_id }) => trace_id === TRACE_ID));
  t.match(await metrics(portico), /^# TYPE portico_spans_dropped_total counter$/m);
  t.equal(await portico.stop(), 0);
  t.equal(collector.spans.filter(({ name }) => name === "GET /helloworld/Call").length, 2, "and one of its own sample");
  const spans = collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
  const one = (is: (span: ReceivedSpan) => boolean): ReceivedSpan => {
    const found = spans.filter(is);
    t.equal(found.length, 1);
    return found[0] as ReceivedSpan;
  };
  const root = one(({ name }) => name === "GET /helloworld/Call");
  const attempt = one(({ kind }) => kind === "CLIENT");
  const served = one(({ name, kind }) => name === "helloworld.Helloworld/Call" && kind === "SERVER");
  t.match(root, { parentSpanId: "b7ad6b7169203331", kind: "SERVER", status: undefined, flags: 0x301 });
  t.equal(served.parentSpanId, attempt.spanId);
  t.match(root.resource, { "service.name": "portico", "service.instance.id": /^[\da-f-]{36}$/ });
  const [line] = logLines(portico).filter(({ trace_id }) => trace_id === TRACE_ID);
  t.match(line, { endpoint: "helloworld:Helloworld.Call", span_id: root.spanId });
});

for (const [title, url] of [
  ["a collector that is absent", async () => `http://127.0.0.1:${await freePort()}`],
  [
    "a collector that never responds",
    async () => {
      const collector = await openCollector(t);
      collector.respond = () => {};
      return collector.url;
    },
  ],
] as const) {
  t.test(`${title} costs spans, and neither calls nor the stop`, async (t) => {
    const portico = await begin({ PORTICO_OTLP: await url(), PORTICO_TRACE_SAMPLE: "1", PORTICO_DRAIN: "10m" });
    // More than a batch, so that a request is open.
    for (let count = 0; count < 150; count++) t.equal((await hello(portico)).status, 200);
    t.equal(await portico.stop(), 0, "long before the time that calls in flight would get");
    t.match(
      logLines(portico).filter(({ level }) => level === "warn"),
      [{ collector: /^http:/, reason: "unsent" }],
      "the log says so once",
    );
  });
}
