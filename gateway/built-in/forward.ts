/**
 * Serves the external services of the configuration at the gRPC port of this process. Each call
 * goes to an instance of the service, and the bytes of its messages are not changed. The dispatcher
 * asks the guard to admit the call, as it does for services of this process.
 *
 * Registered services do not need this: they have a gRPC port of their own, and learn from a caller
 * assertion who calls.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { SigningGuard } from "../../src/call/admission.js";
import { first, type Metadata, requestIdOf } from "../../src/call/metadata.js";
import { Code, StatusError } from "../../src/errors.js";
import type { CallStart, OutgoingCall } from "../../src/rpc/channel.js";
import type { FindMethod } from "../../src/rpc/dispatch.js";
import { MessageQueue } from "../../src/rpc/message-queue.js";
import type { ServedMethod } from "../../src/rpc/served-method.js";
import type { BuiltInContext } from "../../src/rpc/service.js";
import { traceOf } from "../../src/telemetry/trace-context.js";
import type { Routes } from "../catalog/routes.js";
import type { EndpointTarget } from "../catalog/target.js";
import { HttpError, toCallError } from "../http/errors.js";
import { SERVICE } from "./grpc.js";

type Messages = AsyncIterable<Uint8Array>;

/**
 * Finds the method that forwards the calls of a gRPC path; undefined if no configured service has
 * the path.
 */
export function forwardTo(routes: Routes, guard: Pick<SigningGuard, "assertionOf">): FindMethod {
  // A target is replaced when its service changes, so its method is then forgotten.
  const methods = new WeakMap<EndpointTarget, ServedMethod>();
  return (path, metadata) => {
    // The owner of the name decides, as at the HTTP port, even if the owner is a service to which
    // this function does not forward.
    const target = routes.findRpc(path, first(metadata, SERVICE))?.target;
    if (target === undefined || !isConfigured(target)) return undefined;
    const known = methods.get(target);
    if (known !== undefined) return known;
    const method = methodOf(target, guard);
    methods.set(target, method);
    return method;
  };
}

function isConfigured({ identity }: EndpointTarget): boolean {
  return identity === "names" || identity === "none";
}

function methodOf(target: EndpointTarget, guard: Pick<SigningGuard, "assertionOf">): ServedMethod {
  const { endpoint } = target;
  const { clientStreaming, serverStreaming } = endpoint.method.proto;
  return {
    name: endpoint.name,
    path: endpoint.path,
    endpoint,
    callTime: target.callTime,
    maxMessage: target.options.maxMessage || undefined,
    load: undefined,
    requestStream: clientStreaming,
    responseStream: serverStreaming,
    decode: (bytes) => bytes,
    encode: (bytes) => bytes as Uint8Array,
    run(request, context) {
      const forwarded = new ForwardedCall(target, context, startOf(target, context, guard));
      if (clientStreaming) void forwarded.sendAll(request as Messages);
      else forwarded.sendOne(request as Uint8Array);
      return serverStreaming ? forwarded.responses : forwarded.onlyResponse();
    },
  };
}

/** One call to the service. */
class ForwardedCall {
  readonly responses: MessageQueue<Uint8Array>;
  readonly #target: EndpointTarget;
  readonly #call: OutgoingCall;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(target: EndpointTarget, context: BuiltInContext, start: CallStart) {
    this.#target = target;
    this.responses = new MessageQueue((bytes) => bytes, {
      pause: () => this.#call.pause(),
      resume: () => this.#call.resume(),
      abandon: () => this.#call.cancel(),
    });
    const { channel, metadata: passed } = target;
    this.#call = channel.open(start, {
      onHeaders: (headers) => context.sendHeaders(passed.select(headers)),
      onMessage: (message) => this.responses.push(message),
      onDrain: () => this.#wake?.(),
      onEnd: (status) => {
        this.#ended = true;
        this.#wake?.();
        context.setTrailers(passed.select(status.trailers));
        this.responses.end(status.code === Code.OK ? undefined : grpcError(target, status));
      },
    });
    context.signal.addEventListener("abort", () => this.#call.cancel());
  }

  sendOne(message: Uint8Array): void {
    this.#call.send(message);
    this.#call.end();
  }

  /**
   * Sends the caller's messages as fast as the service takes them. If the caller fails, the
   * dispatcher ends the call.
   */
  async sendAll(messages: Messages): Promise<void> {
    try {
      for await (const message of messages) {
        if (this.#call.send(message)) continue;
        await new Promise<void>((resolve) => {
          if (this.#ended) resolve();
          else this.#wake = resolve;
        });
      }
      this.#call.end();
    } catch {
      this.#call.cancel();
    }
  }

  /**
   * @throws {StatusError} (rejects) the service's error, or UNIMPLEMENTED if it sent no response or
   * several
   */
  async onlyResponse(): Promise<Uint8Array> {
    const received: Uint8Array[] = [];
    for await (const message of this.responses) if (received.length < 2) received.push(message);
    const [message] = received;
    if (message !== undefined && received.length === 1) return message;
    const { service } = this.#target.endpoint;
    throw new StatusError(Code.UNIMPLEMENTED, `${service} responded with ${received.length} messages instead of one`);
  }
}

function startOf(target: EndpointTarget, context: BuiltInContext, guard: Pick<SigningGuard, "assertionOf">): CallStart {
  const { endpoint, identity, metadata: passed } = target;
  const { caller, namespace, namespaceId, metadata: sent } = context;
  const metadata: Metadata[number][] = [["platform-namespace", namespace]];
  const requestId = requestIdOf(sent);
  if (requestId !== undefined) metadata.push(["x-request-id", requestId]);
  const { parent, state } = traceOf({ traceparent: first(sent, "traceparent"), tracestate: first(sent, "tracestate") });
  if (parent !== undefined) metadata.push(["traceparent", parent]);
  if (state !== undefined) metadata.push(["tracestate", state]);
  metadata.push(...passed.select(sent));
  if (identity === "names") {
    if (caller !== undefined) metadata.push(["x-portico-account", caller.account]);
    metadata.push(["x-portico-namespace", namespace]);
  }
  return {
    path: endpoint.path,
    metadata,
    deadlineMonotonicMs: context.deadlineMonotonicMs,
    callerAssertion: target.sendsAssertion
      ? guard.assertionOf({ endpoint, caller, namespace, namespaceId })
      : undefined,
    repeatable: endpoint.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
  };
}

/**
 * The HTTP port reports a broken protocol by an HTTP status. Here it is the matching gRPC status.
 */
function grpcError({ endpoint }: EndpointTarget, status: Parameters<typeof toCallError>[1]): StatusError {
  const error = toCallError(endpoint.service, status);
  return error instanceof HttpError ? new StatusError(status.code, error.message) : error;
}
