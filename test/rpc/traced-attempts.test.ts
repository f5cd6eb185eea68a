// Each attempt of a traced call has a span of its own, and tells it to its instance.
import t, { type Test } from "tap";
import { NO_METADATA } from "../../src/call/metadata.js";
import { Code } from "../../src/errors.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { Channel, Status } from "../../src/rpc/channel.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { CallTrace } from "../../src/telemetry/call-trace.js";
import type { EndedSpan } from "../../src/telemetry/span.js";
import { type ActiveSpan, Tracer } from "../../src/telemetry/tracer.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

const LOST: Status = { code: Code.UNAVAILABLE, message: "gone", details: [], trailers: NO_METADATA, neverSent: true };

/** An instance that cannot be reached, although its channel is ready. */
const unreachable: Channel = {
  target: { host: "192.0.2.1", port: 9000 },
  state: "ready",
  open(_, listener) {
    queueMicrotask(() => listener.onEnd(LOST));
    return { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
  },
  close() {},
};

/** A balancer over channels, a traced call through it, and the spans. */
async function scene(t: Test, channels: Record<string, Channel>) {
  const balancer = new Balancer("raw");
  balancer.update(new Map(Object.entries(channels)));
  t.teardown(() => balancer.close());
  const spans: EndedSpan[] = [];
  const queue = { add: (span: EndedSpan) => void spans.push(span), drop() {}, hasRoom: () => true };
  const root = new Tracer({ ratio: 1, queue }).begin(undefined, undefined, performance.now()) as ActiveSpan;
  const { path } = RawService.one;
  const status = await new Promise<Status>((resolve) => {
    const trace = new CallTrace(root, path);
    const deadlineMonotonicMs = performance.now() + 60_000;
    const call = balancer.open({ path, metadata: [], deadlineMonotonicMs, trace }, { onMessage() {}, onEnd: resolve });
    call.send(Buffer.from("a"));
    call.end();
  });
  return { status, root, spans };
}

t.test("a call that is retried has two attempts", async (t) => {
  const told: unknown[] = [];
  const one = (_: Buffer, { metadata }: { metadata: unknown }) => {
    told.push(metadata);
    return Buffer.from("b");
  };
  const live = new InProcessChannel(dispatcherOf([rawService({ one })]));
  const { status, root, spans } = await scene(t, { lost: unreachable, live });
  t.equal(status.code, Code.OK);
  const [lost, answered, call] = spans as [EndedSpan, EndedSpan, EndedSpan];
  t.match(call, { name: "call", parentId: root.spanId, error: undefined, attributes: { "portico.attempts": 2 } });
  const attempt = { name: "raw.Raw/One", kind: 3, parentId: call.spanId, traceId: root.traceId };
  const where = { "server.address": "192.0.2.1", "server.port": 9000 };
  const failed = { ...where, "rpc.grpc.status_code": 14, "error.type": "UNAVAILABLE" };
  t.match(lost, { ...attempt, error: "UNAVAILABLE", attributes: failed });
  t.match(answered, { ...attempt, error: undefined, attributes: { "rpc.grpc.status_code": 0 } });
  t.notHas(answered.attributes, { "server.address": /./ }, "it is in this process");
  t.same(told, [[["traceparent", `00-${root.traceId}-${answered.spanId}-01`]]]);
});

t.test("a call that no instance receives ends too", async (t) => {
  const { status, spans } = await scene(t, { lost: unreachable });
  t.equal(status.code, Code.UNAVAILABLE);
  t.match(spans, [{ name: "raw.Raw/One" }, { name: "call", error: "UNAVAILABLE" }]);
});

t.test("a call without an instance has no attempt", async (t) => {
  const { spans } = await scene(t, {});
  t.match(spans, [{ name: "call", error: "UNAVAILABLE", attributes: { "portico.attempts": 0 } }]);
});

t.test("the address of a unix socket has no port", async (t) => {
  const { spans } = await scene(t, { lost: { ...unreachable, target: { path: "/run/raw.sock" } } });
  t.match(spans[0]?.attributes, { "server.address": "/run/raw.sock", "server.port": undefined });
});
