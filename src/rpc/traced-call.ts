/**
 * The server span of a call that this process serves, where its caller has sampled it. The endpoint
 * then sees this span as the parent, and so do the calls that it makes.
 */
import { first } from "../call/metadata.js";
import { Code } from "../errors.js";
import { codeName, rpcAttributes } from "../telemetry/call-trace.js";
import type { Tracer } from "../telemetry/tracer.js";
import type { CallResponder, CallStart, Status } from "./channel.js";
import type { ServedMethod } from "./served-method.js";

/** The codes for which a server span has failed (semantic conventions 1.37.0, gRPC server). */
const FAILED: ReadonlySet<Code> = new Set([
  ...[Code.UNKNOWN, Code.DEADLINE_EXCEEDED, Code.UNIMPLEMENTED],
  ...[Code.INTERNAL, Code.UNAVAILABLE, Code.DATA_LOSS],
]);

/** @returns what replaces the beginning and the reply of the call; undefined if it is not traced */
export function traceServed(
  { path, name, endpoint }: ServedMethod,
  start: CallStart,
  reply: CallResponder,
  tracer: Tracer,
): { readonly start: CallStart; readonly reply: CallResponder } | undefined {
  const traceparent = first(start.metadata, "traceparent");
  if (traceparent === undefined || endpoint === undefined) return undefined;
  const span = tracer.continue(traceparent, first(start.metadata, "tracestate"), start.admission === undefined);
  if (span === undefined) return undefined;
  const others = start.metadata.filter(([header]) => header !== "traceparent");
  const end = (status: Status): void => {
    const { code } = status;
    const attributes = { ...rpcAttributes(path, code), "portico.endpoint": name };
    span.end({ name: path.slice(1), attributes, error: FAILED.has(code) ? codeName(code) : undefined });
    reply.end(status);
  };
  return {
    start: { ...start, metadata: [...others, ["traceparent", span.traceparent]] },
    reply: {
      sendHeaders: (metadata) => reply.sendHeaders(metadata),
      send: (message) => reply.send(message),
      end,
      pause: () => reply.pause(),
      resume: () => reply.resume(),
    },
  };
}
