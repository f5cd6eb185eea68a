// The headers of W3C Trace Context count only where they are well-formed.
import t from "tap";
import { formatTraceparent, parseTraceparent, traceOf } from "../../src/telemetry/trace-context.js";
import { TRACEPARENTS, TRACESTATES } from "../cases/trace/trace-context.js";

const PARENT = "00-12345678901234567890123456789012-1234567890123456-01";

for (const [title, text, isValid] of TRACEPARENTS) {
  t.test(`traceparent, ${title}: ${isValid ? "counts" : "does not count"}`, async (t) => {
    t.equal(parseTraceparent(text) !== undefined, isValid);
    t.equal(traceOf({ traceparent: text, tracestate: "foo=1" }).state, isValid ? "foo=1" : undefined);
  });
}

for (const [title, text, isValid] of TRACESTATES) {
  t.test(`tracestate, ${title}: is ${isValid ? "passed on" : "dropped"}`, async (t) => {
    t.same(traceOf({ traceparent: PARENT, tracestate: text }), { parent: PARENT, state: isValid ? text : undefined });
  });
}

t.test("a valid traceparent is read, and written again", async (t) => {
  const context = parseTraceparent(PARENT);
  t.same(context, { traceId: "12345678901234567890123456789012", spanId: "1234567890123456", flags: 1 });
  t.equal(context && formatTraceparent(context), PARENT);
  t.equal(formatTraceparent({ traceId: "a".repeat(32), spanId: "b".repeat(16), flags: 3 }).slice(-3), "-03");
});

t.test("a tracestate without a traceparent does not count", async (t) => {
  t.same(traceOf({ traceparent: undefined, tracestate: "foo=1" }), { parent: undefined, state: undefined });
});
