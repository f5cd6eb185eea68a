// A process that serves a call continues the trace of its caller. The endpoint sees the span of the
// call as the parent.
import t from "tap";
import type { Metadata } from "../../src/call/metadata.js";
import { Code, StatusError } from "../../src/errors.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import type { EndedSpan } from "../../src/telemetry/span.js";
import { Tracer } from "../../src/telemetry/tracer.js";
import { rawService, statusOf } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";
const parent = (flags: string): [string, string] => ["traceparent", `00-${TRACE_ID}-${PARENT_ID}-${flags}`];

/** Calls with metadata. Returns the metadata that the endpoint saw, and the spans. */
async function call(metadata: [string, string][], code = Code.OK) {
  const spans: EndedSpan[] = [];
  const queue = { add: (span: EndedSpan) => void spans.push(span), drop() {}, hasRoom: () => true };
  let seen: Metadata = [];
  const one = (_: Buffer, context: { readonly metadata: Metadata }): Buffer => {
    seen = context.metadata;
    if (code !== Code.OK) throw new StatusError(code, "no table users");
    return Buffer.from("b");
  };
  const dispatcher = dispatcherOf([rawService({ one })], { tracer: new Tracer({ ratio: 1, queue }) });
  const channel = new InProcessChannel(dispatcher);
  const status = await statusOf(channel, metadata);
  channel.close();
  return { status, seen, spans };
}

t.test("a sampled call has a span, which the endpoint sees instead of the caller's", async (t) => {
  const { status, seen, spans } = await call([["x-request-id", "r"], parent("01"), ["tracestate", "a=1"]]);
  t.equal(status.code, Code.OK);
  const rpc = { "rpc.system": "grpc", "rpc.service": "raw.Raw", "rpc.method": "One", "rpc.grpc.status_code": 0 };
  t.match(spans, [{ traceId: TRACE_ID, parentId: PARENT_ID, name: "raw.Raw/One", kind: 2, state: "a=1" }]);
  t.match(spans[0]?.attributes, { ...rpc, "portico.endpoint": "raw:Raw.One", "error.type": undefined });
  t.same(seen, [
    ["x-request-id", "r"],
    ["tracestate", "a=1"],
    ["traceparent", `00-${TRACE_ID}-${spans[0]?.spanId}-01`],
  ]);
});

for (const [title, metadata] of [
  ["no traceparent", []],
  ["not sampled", [parent("00")]],
  ["malformed", [parent("xx")]],
] as const) {
  t.test(`${title}: no span, and the endpoint sees what the caller sent`, async (t) => {
    const sent = metadata.map(([name, value]): [string, string] => [name, value]);
    const { seen, spans } = await call(sent);
    t.same(seen, sent);
    t.same(spans, []);
  });
}

for (const [code, isServerError] of [
  [Code.NOT_FOUND, false],
  [Code.PERMISSION_DENIED, false],
  [Code.UNAVAILABLE, true],
  [Code.UNKNOWN, true],
] as const) {
  t.test(`${Code[code]} is ${isServerError ? "an" : "no"} error of the server`, async (t) => {
    const { spans } = await call([parent("01")], code);
    t.equal(spans[0]?.error, isServerError ? Code[code] : undefined);
    t.match(spans[0]?.attributes, { "rpc.grpc.status_code": code, "error.type": Code[code] });
  });
}
