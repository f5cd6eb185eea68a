/**
 * Measures what tracing adds to a call, by how calls are sampled: the decision, the spans where
 * there are some, and writing them for the collector. Sending is not measured: it happens later, in
 * batches. Run it by `node --import tsx bench/tracing.ts`. docs/performance.md states the results.
 */
import { readHeaders } from "../gateway/http/headers.js";
import type { GatewayRequestHead } from "../gateway/http/message.js";
import { RequestTrace } from "../gateway/stages/trace.js";
import type { Admission, Guarded, SigningGuard } from "../src/call/admission.js";
import type { Metadata } from "../src/call/metadata.js";
import { Code } from "../src/errors.js";
import type { CallResponder, CallStart } from "../src/rpc/channel.js";
import type { ServedMethod } from "../src/rpc/served-method.js";
import { traceServed } from "../src/rpc/traced-call.js";
import { SpanQueue } from "../src/telemetry/span-queue.js";
import { writeRequest } from "../src/telemetry/span-writer.js";
import { Tracer } from "../src/telemetry/tracer.js";

const CALLS = 2_000_000;
/** Fewer where each call has spans. */
const TRACED_CALLS = 50_000;
const ROUNDS = 7;

const endpoint = { name: "helloworld:Helloworld.Call" } as Guarded;
const admission: Admission = { endpoint, caller: undefined, namespace: "default" };
const guard = { admitAtOnce: () => admission, admit: () => admission } as unknown as SigningGuard;
const credentials = { token: undefined, namespace: undefined, tokenRequired: false };
const known = {
  ...{ requestId: "r-1", dialect: { name: "json" }, service: "helloworld", admission },
  ...{ target: undefined, route: undefined, response: { headers: [], trailers: [] } },
};
const target = { host: "127.0.0.1", port: 9000 };
const metadata: Metadata = [["platform-namespace", "default"]];
const sender = { resource: { "service.name": "portico" }, version: "1" };

function requestWith(...headers: readonly string[]): GatewayRequestHead {
  return {
    ...{ method: "GET", target: "/helloworld/call?name=Ada", rawHeaders: headers, protocolVersion: "1.1" },
    ...{ remoteAddress: "127.0.0.1", onAbort() {} },
    headers: readHeaders(["Host", "127.0.0.1:8080", ...headers]),
  };
}

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
const PLAIN = requestWith();

/** The bytes that were written, so that no work can be left out. */
let written = 0;

/** A call as the gateway traces it. */
function call(request: GatewayRequestHead, tracer: Tracer | undefined, now: number): void {
  const trace = tracer === undefined ? undefined : RequestTrace.begin(request, tracer, false, now);
  const admitted = (trace?.deciding(guard) ?? guard).admitAtOnce(credentials, endpoint);
  const call = trace?.call("/helloworld.Helloworld/Call");
  const attempt = call?.attempt(target);
  written += metadata.concat(attempt?.metadata ?? []).length + (admitted === undefined ? 0 : 1);
  attempt?.end(Code.OK);
  call?.end(Code.OK);
  trace?.end(request, known, 200);
}

function tracerOf(ratio: number): Tracer {
  const queue: SpanQueue = new SpanQueue({
    onDrop() {},
    onFull: () => {
      written += writeRequest(sender, queue.take()).length;
    },
  });
  return new Tracer({ ratio, queue });
}

/** Nanoseconds of processor time for each call, the lowest of some rounds. */
function measure(calls: number, request: GatewayRequestHead, tracer: Tracer | undefined, stepMs = 0): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    const before = process.cpuUsage();
    // Where a client samples, the clock advances, so that its share of a second is not used up.
    for (let index = 0; index < calls; index++) call(request, tracer, start + index * stepMs);
    const { user, system } = process.cpuUsage(before);
    return ((user + system) * 1000) / calls;
  });
  return Math.min(...times);
}

/** What a service does for each call that comes to it, with the metadata that a gateway sends. */
function serve(tracer: Tracer): number {
  const names = ["platform-namespace", "x-request-id", "x-portico-client-address", "x-portico-context"];
  const start: CallStart = { path: "/a.A/B", metadata: names.map((name) => [name, "value"]) };
  const method = { path: "/a.A/B", name: "a:A.B", endpoint } as unknown as ServedMethod;
  const reply = {} as CallResponder;
  const times = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let index = 0; index < CALLS; index++)
      written += traceServed(method, start, reply, tracer) === undefined ? 1 : 0;
    const { user, system } = process.cpuUsage(before);
    return ((user + system) * 1000) / CALLS;
  });
  return Math.min(...times);
}

const none = measure(CALLS, PLAIN, undefined);
const rows: readonly (readonly [title: string, nanoseconds: number])[] = [
  ["no sample", measure(CALLS, PLAIN, tracerOf(0))],
  ["sample of 0.1 %", measure(CALLS, PLAIN, tracerOf(0.001))],
  ["sample of 1 %", measure(CALLS, PLAIN, tracerOf(0.01))],
  ["a client that does not sample", measure(CALLS, requestWith("Traceparent", `${TRACE}-00`), tracerOf(0.01))],
  ["every call is traced", measure(TRACED_CALLS, PLAIN, tracerOf(1))],
  ["a client that samples", measure(TRACED_CALLS, requestWith("Traceparent", `${TRACE}-01`), tracerOf(0), 1.01)],
  ["a client that samples too much", measure(CALLS, requestWith("Traceparent", `${TRACE}-01`), tracerOf(0))],
];
console.log(`without tracing ${none.toFixed(0)} ns; more with tracing:`);
for (const [title, time] of rows) console.log(`${title.padEnd(34)} ${(time - none).toFixed(0).padStart(6)} ns`);
console.log(`a service, for a call that is not traced ${serve(tracerOf(0.01)).toFixed(0)} ns`);
if (written === 0) throw new Error("nothing was measured");
