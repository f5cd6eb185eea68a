// Spans are written as OTLP has them. protobufjs decodes them, by the .proto file beside this test.
// otlp-collector.outside.ts lets the receiver of the OpenTelemetry Collector decode them.
import t from "tap";
import { type EndedSpan, SpanKind } from "../../src/telemetry/span.js";
import { readResponse, writeRequest, writeSpan } from "../../src/telemetry/span-writer.js";
import { decodeRequest, partialSuccess } from "./collector.js";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

const SPAN: EndedSpan = {
  traceId: TRACE_ID,
  spanId: "b7ad6b7169203331",
  parentId: "00f067aa0ba902b7",
  isParentRemote: true,
  flags: 1,
  state: "a=1,b=2",
  name: "GET /helloworld/Call",
  kind: SpanKind.SERVER,
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_002,
  attributes: { text: "Größe", whole: -3, large: 2 ** 40, fraction: 0.5, absent: undefined, empty: "", zero: 0 },
  error: "503",
};

const sender = { resource: { "service.name": "portico", "process.pid": 7 }, version: "1.2.3" };
const roundTrip = (...spans: readonly EndedSpan[]) => decodeRequest(writeRequest(sender, spans.map(writeSpan)));

t.test("a span with everything", async (t) => {
  t.same(roundTrip(SPAN), [
    {
      traceId: TRACE_ID,
      spanId: "b7ad6b7169203331",
      parentSpanId: "00f067aa0ba902b7",
      traceState: "a=1,b=2",
      name: "GET /helloworld/Call",
      kind: "SERVER",
      start: 1_700_000_000_000_250_000n,
      end: 1_700_000_000_002_000_000n,
      attributes: { text: "Größe", whole: -3, large: 2 ** 40, fraction: 0.5, empty: "", zero: 0 },
      status: { code: "STATUS_CODE_ERROR", message: "503" },
      // Sampled; the flags say that the parent is known, and that it is remote.
      flags: 0x301,
      resource: { "service.name": "portico", "process.pid": 7 },
    },
  ]);
});

t.test("a span with nothing but its name", async (t) => {
  const bare = { parentId: undefined, isParentRemote: false, state: undefined, attributes: {}, error: undefined };
  const [span] = roundTrip({ ...SPAN, ...bare });
  t.match(span, { parentSpanId: "", traceState: "", flags: 0x101 });
  t.same(span?.attributes, {});
  t.equal(span?.status, undefined);
});

t.test("an error without a message is an error", async (t) => {
  t.match(roundTrip({ ...SPAN, error: "" }), [{ status: { code: "STATUS_CODE_ERROR", message: "" } }]);
});

t.test("a long value is shortened", async (t) => {
  const [span] = roundTrip({ ...SPAN, attributes: { "url.path": "/".repeat(10_000) } });
  t.equal(span?.attributes["url.path"], "/".repeat(256));
});

t.test("many spans in one request", async (t) => {
  const spans = roundTrip(...Array.from({ length: 600 }, (_, index) => ({ ...SPAN, name: `span ${index}` })));
  t.equal(spans.length, 600);
  t.equal(spans[599]?.name, "span 599");
});

t.test("a written span keeps no other memory", async (t) => {
  const bytes = writeSpan(SPAN);
  t.equal(bytes.buffer.byteLength, bytes.length);
});

t.test("what a collector responds", async (t) => {
  t.same(readResponse(partialSuccess(3, "too old")), { rejected: 3, message: "too old" });
  t.same(readResponse(Buffer.alloc(0)), { rejected: 0, message: "" }, "it has accepted all");
  t.throws(() => readResponse(Buffer.from("<html>")), "no such message");
});
