/** A Portico whose gateway and services are traced, and its spans. */
import type { Test } from "tap";
import type { EndedSpan } from "../../../src/telemetry/span.js";
import { Tracer } from "../../../src/telemetry/tracer.js";
import { until } from "../../support/until.js";
import type { DeployOptions } from "../deployment.js";
import { type Scene, scene } from "../dialects/json/streams/client.js";

export const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
export const PARENT_ID = "b7ad6b7169203331";
/** Headers of a client that has sampled its request. */
export const SAMPLED = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`, tracestate: "a=1" };
export const UNSAMPLED = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00`, tracestate: "a=1" };

export interface TracedScene extends Scene {
  /** Resolves with the spans of one request, when its server span has ended. Forgets them. */
  trace(): Promise<Trace>;
  readonly spans: EndedSpan[];
}

/** The spans of one request of the gateway. */
export interface Trace {
  /** The server span of HTTP. */
  readonly root: EndedSpan;
  readonly decisions: readonly EndedSpan[];
  readonly calls: readonly EndedSpan[];
  /** The client spans. */
  readonly attempts: readonly EndedSpan[];
  /** The server spans of services. */
  readonly served: readonly EndedSpan[];
}

/** @param ratio of the requests that are traced where the client has not decided it */
export async function tracedScene(t: Test, ratio: number, options: DeployOptions = {}): Promise<TracedScene> {
  const spans: EndedSpan[] = [];
  const queue = { add: (span: EndedSpan) => void spans.push(span), drop() {}, hasRoom: () => true };
  const it = await scene(t, { tracer: new Tracer({ ratio, queue }), ...options });
  spans.length = 0;
  const isRoot = ({ attributes }: EndedSpan): boolean => "http.response.status_code" in attributes;
  const trace = async (): Promise<Trace> => {
    await until(() => spans.some(isRoot) && spans.every((span) => isRoot(span) || hasParent(span, spans)));
    const all = spans.splice(0);
    const of = (name: string) => all.filter((span) => span.name === name);
    const rpc = (kind: number) => all.filter((span) => "rpc.system" in span.attributes && span.kind === kind);
    const root = all.find(isRoot) as EndedSpan;
    return { root, decisions: of("decide"), calls: of("call"), attempts: rpc(3), served: rpc(2) };
  };
  return { ...it, spans, trace };
}

/** Parents end after their children. */
function hasParent({ parentId }: EndedSpan, spans: readonly EndedSpan[]): boolean {
  return spans.some(({ spanId }) => spanId === parentId);
}
