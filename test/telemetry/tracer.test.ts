// Which requests are traced. A client's decision holds; the others are sampled. What clients demand
// is bounded.
import t from "tap";
import type { EndedSpan } from "../../src/telemetry/span.js";
import { type ActiveSpan, Tracer } from "../../src/telemetry/tracer.js";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";
const parent = (flags: string) => `00-${TRACE_ID}-${PARENT_ID}-${flags}`;

/** A tracer, the spans that ended, and the reasons for which spans were dropped. */
function open(ratio: number, { random = 0.5, hasRoom = (_isRemote: boolean): boolean => true } = {}) {
  const spans: EndedSpan[] = [];
  const dropped: string[] = [];
  const queue = {
    add: (span: EndedSpan) => void spans.push(span),
    drop: (count: number, reason: string) => void dropped.push(`${count} ${reason}`),
    hasRoom,
  };
  return { tracer: new Tracer({ ratio, queue, random: () => random }), spans, dropped };
}

const end = (span: ActiveSpan | undefined): void => span?.end({ name: "GET", attributes: {} });

const decisions: readonly (readonly [
  title: string,
  ratio: number,
  traceparent: string | undefined,
  traced: boolean,
])[] = [
  ["no decision, and the sample hits", 0.6, undefined, true],
  ["no decision, and the sample misses", 0.4, undefined, false],
  ["no decision, and none is sampled", 0, undefined, false],
  ["no decision, and all are sampled", 1, undefined, true],
  ["sampled by the client, although none is sampled here", 0, parent("01"), true],
  ["sampled by the client, with flags that are not known", 0, parent("ff"), true],
  ["not sampled by the client, although all are sampled here", 1, parent("00"), false],
  ["not sampled by the client, with another flag", 1, parent("02"), false],
  ["a malformed traceparent is none: the sample hits", 0.6, parent("xx"), true],
  ["a malformed traceparent is none: the sample misses", 0.4, parent("0x"), false],
];

for (const [title, ratio, traceparent, traced] of decisions) {
  t.test(`${title}: ${traced ? "traced" : "not traced"}`, async (t) => {
    const { tracer, spans } = open(ratio);
    end(tracer.begin(traceparent, undefined, performance.now()));
    t.equal(spans.length, traced ? 1 : 0);
  });
}

t.test("the trace of the client is continued", async (t) => {
  const { tracer, spans } = open(0);
  const span = tracer.begin(parent("ff"), "a=1", performance.now());
  t.match(span?.traceparent, new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-03$`), "flags that are not known are cleared");
  t.notMatch(span?.traceparent, PARENT_ID);
  t.equal(span?.tracestate, "a=1");
  end(span);
  t.match(spans, [{ traceId: TRACE_ID, parentId: PARENT_ID, isParentRemote: true, state: "a=1", kind: 2 }]);
});

t.test("a malformed tracestate is dropped, and the trace is continued", async (t) => {
  const span = open(0).tracer.begin(parent("01"), "A=1", performance.now());
  t.equal(span?.traceId, TRACE_ID);
  t.equal(span?.tracestate, undefined);
});

t.test("a new trace has an ID of its own, and no tracestate of the client", async (t) => {
  const { tracer, spans } = open(1);
  for (let count = 0; count < 2; count++) end(tracer.begin(undefined, "a=1", performance.now()));
  t.match(spans, [{ parentId: undefined, isParentRemote: false, state: undefined, flags: 1 }, {}]);
  t.not(spans[0]?.traceId, spans[1]?.traceId);
  for (const { traceId, spanId } of spans) {
    t.match(traceId, /^[0-9a-f]{32}$/);
    t.match(spanId, /^[0-9a-f]{16}$/);
  }
});

t.test("a span ends once, and a child is within its parent", async (t) => {
  const { tracer, spans } = open(1);
  const start = performance.now() - 5;
  const span = tracer.begin(undefined, undefined, start) as ActiveSpan;
  const child = span.child("decide", 1);
  child.end({ attributes: {} });
  child.end({ attributes: {} });
  end(span);
  const [inner, outer] = spans as [EndedSpan, EndedSpan];
  t.equal(spans.length, 2);
  t.match(inner, { name: "decide", parentId: outer.spanId, traceId: outer.traceId, isParentRemote: false });
  t.ok(outer.startMs + 4 < inner.startMs && inner.endMs <= outer.endMs);
  t.ok(Math.abs(outer.endMs - Date.now()) < 1_000, "the times are of the wall clock");
});

t.test("calls to a service are traced only where their caller has sampled them", async (t) => {
  const { tracer, spans } = open(1);
  for (const sent of [undefined, parent("00"), parent("01"), "x"]) end(tracer.continue(sent, undefined, true));
  t.match(spans, [{ parentId: PARENT_ID, isParentRemote: true }]);
  t.equal(spans.length, 1);
});

t.test("in a second at most 1,000 requests are traced because clients demand it", async (t) => {
  const { tracer, spans, dropped } = open(0.6);
  for (let count = 0; count < 1_500; count++) end(tracer.begin(parent("01"), undefined, 7_000 + count / 1_500));
  t.equal(spans.length, 1_000);
  t.same(new Set(dropped), new Set(["1 rate"]));
  t.equal(dropped.length, 500);
  end(tracer.begin(undefined, undefined, 7_500));
  t.equal(spans.length, 1_001, "the own sample is not affected");
  end(tracer.continue(parent("01"), undefined, false));
  t.match(spans.pop(), { isParentRemote: false }, "nor are calls within the process");
  end(tracer.begin(parent("01"), undefined, 8_000));
  t.equal(spans.length, 1_002, "nor is the next second");
});

t.test("while the queue is full, no span is made", async (t) => {
  const { tracer, spans, dropped } = open(1, { hasRoom: (isRemote) => !isRemote });
  t.equal(tracer.begin(parent("01"), undefined, 0), undefined, "there is no room for what clients demand");
  end(tracer.begin(undefined, undefined, 0));
  t.equal(spans.length, 1, "but for the own sample");
  t.same(dropped, ["1 queue_full"]);
  const full = open(1, { hasRoom: () => false });
  t.equal(full.tracer.begin(undefined, undefined, 0), undefined);
  t.same(full.dropped, ["1 queue_full"]);
});
