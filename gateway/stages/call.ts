/**
 * Stage 6, call: reads the request message and calls the endpoint.
 *
 * The shape of the endpoint determines how: one message each way, a stream of responses, a body
 * that is passed on chunk by chunk, or a WebSocket.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Admission, Credentials } from "../../src/call/admission.js";
import { CLIENT_ADDRESS, type Metadata, NO_METADATA } from "../../src/call/metadata.js";
import { Code } from "../../src/errors.js";
import type { CallListener, CallStart, Status } from "../../src/rpc/channel.js";
import { traceOf } from "../../src/telemetry/trace-context.js";
import type { PassedMetadata } from "../catalog/passed-metadata.js";
import type { Alternatives, EndpointTarget, Route } from "../catalog/target.js";
import { CLIENT_GONE, HttpError, notOneMessage, UnreachableError } from "../http/errors.js";
import type { GatewayRequest } from "../http/message.js";
import type { ResponseMetadata, Written } from "./dialect.js";
import type { StageOptions } from "./options.js";
import { type RequestState, recordStream } from "./record.js";
import { reportFailure, write } from "./respond.js";
import type { AdmittedStart, StreamCallOptions } from "./stream-call.js";

const HEARTBEAT_MS = 15_000;

/** An admitted request without its body. A stream keeps this object as long as it is open. */
export interface AdmittedRequest {
  readonly request: GatewayRequest;
  readonly state: RequestState;
  readonly route: Route;
  /** The endpoint, by the contract of the instance that is called. */
  readonly target: EndpointTarget;
  readonly credentials: Credentials;
  readonly admission: Admission;
  /** When the call must have ended, in milliseconds of `performance.now()`. */
  readonly deadlineMonotonicMs: number | undefined;
}

/**
 * Ends a request with:
 * - 101 a WebSocket is opened
 * - 204 a client reconnects to an event stream that it has already received to the end
 * - 400 the message does not fit the endpoint, or the endpoint reads no query and the request has
 *   one
 * - 426 the endpoint takes a stream of messages, and the request asks for no WebSocket
 * - 499 the client has closed the connection or cancelled the request
 * - 502 the service broke the protocol, did not respond with one message, or responded with more
 *   than the gateway accepts
 * - 503 the service cannot be reached or is overloaded, or the gateway stops
 * - 504 the deadline has passed, or the service read nothing of an upload for too long
 * - any error of the service, by its gRPC code
 * @returns the response message in wire bytes, or the reply where the call continues after the
 * response has begun
 */
export function call(
  admitted: AdmittedRequest,
  body: readonly Uint8Array[],
  options: StageOptions,
): Promise<Uint8Array> | Promise<Uint8Array | Written> | Written {
  const { request, state, route, target, admission } = admitted;
  const { dialect } = state;
  if (target.endpoint.shape !== "unary") {
    return dialect.openStream(request, body, streamOptions(admitted, options));
  }
  if (target.alternatives !== undefined) return callAnyContract(admitted, target.alternatives, body, options);
  const message = target.completeAtOnce(() => dialect.readMessage(request, target, body, route));
  if (message === undefined) return callWithTypes(admitted, body, options);
  return callOnce(admitted, message, startOf(admitted, admission, options));
}

/** Calls with a message whose types must first be fetched from the service. */
async function callWithTypes(
  admitted: AdmittedRequest,
  body: readonly Uint8Array[],
  options: StageOptions,
): Promise<Uint8Array> {
  const { request, state, route, target, credentials } = admitted;
  const message = await target.complete(
    () => state.dialect.readMessage(request, target, body, route),
    admitted.deadlineMonotonicMs,
  );
  // The guard decides again, because a change of the rules may have been acknowledged while the
  // types were fetched.
  const admission = await options.guard.admit(credentials, target.endpoint);
  return callOnce(admitted, message, startOf(admitted, admission, options));
}

/**
 * When a call must have ended, in milliseconds of `performance.now()`. A stream has a deadline only
 * where the client sets one. The call time of a service replaces both settings of the gateway.
 */
export function deadlineOf(
  { endpoint: { shape }, callTime: own }: Pick<EndpointTarget, "endpoint" | "callTime">,
  timeout: number | undefined,
  { callTime, maxCallTime }: StageOptions["config"],
): number | undefined {
  if (shape === "unary") return performance.now() + Math.min(timeout ?? own ?? callTime, own ?? maxCallTime);
  return timeout === undefined ? undefined : performance.now() + timeout;
}

/** Sends one message and waits for the one response. */
function callOnce(admitted: AdmittedRequest, message: Uint8Array, start: CallStart): Promise<Uint8Array> {
  const { request, target } = admitted;
  return new Promise((resolve, reject) => {
    const call = target.channel.open(start, new UnaryListener(admitted, resolve, reject));
    request.onAbort((reason) => {
      reject(reason);
      call.cancel();
    });
    call.send(message);
    call.end();
  });
}

class UnaryListener implements CallListener {
  #headers: Metadata = NO_METADATA;
  #message: Uint8Array | undefined;
  #count = 0;

  constructor(
    readonly admitted: AdmittedRequest,
    readonly resolve: (message: Uint8Array) => void,
    readonly reject: (error: Error) => void,
  ) {}

  onHeaders(headers: Metadata): void {
    this.#headers = headers;
  }

  onMessage(message: Uint8Array): void {
    this.#message = message;
    this.#count++;
  }

  onEnd(status: Status): void {
    const { target, state, route } = this.admitted;
    const { statuses, endpoint } = target;
    const metadata = route.metadata ?? target.metadata;
    if (metadata.isAny || statuses !== undefined) {
      state.response = responseOf(target, metadata, this.#headers, status.trailers);
    }
    if (status.code !== Code.OK) {
      const error = target.toCallError(status, this.#headers);
      const completed = completeDetails(this.admitted, status);
      if (completed === undefined) this.reject(error);
      else void completed.then(() => this.reject(error));
    } else if (this.#message !== undefined && this.#count === 1) this.resolve(this.#message);
    else this.reject(notOneMessage(endpoint.service, this.#count));
  }
}

/** What the reply to a call takes from the service's metadata. */
function responseOf(
  { statuses }: EndpointTarget,
  metadata: PassedMetadata,
  headers: Metadata,
  trailers: Metadata,
): ResponseMetadata {
  const status = statuses?.of(Code.OK, headers, trailers);
  return { headers: metadata.select(headers), trailers: metadata.select(trailers), status };
}

/**
 * Resolves when the types in the error's details have been fetched. Undefined where none is
 * missing, or the dialect writes no details.
 */
function completeDetails(
  { state, target, deadlineMonotonicMs }: AdmittedRequest,
  { details }: Status,
): Promise<void> | undefined {
  return state.dialect.writesDetails ? target.completeDetails(details, deadlineMonotonicMs) : undefined;
}

/**
 * Calls an endpoint whose instances have different contracts. The message is encoded by the
 * contract of the instance that is called. If no instance of that contract has received the call,
 * the guard decides again. Then the message is encoded by another contract, and sent to an instance
 * with that contract.
 */
async function callAnyContract(
  first: AdmittedRequest,
  alternatives: Alternatives,
  body: readonly Uint8Array[],
  options: StageOptions,
): Promise<Written> {
  const { request, state, route } = first;
  const { dialect } = state;
  const tried: EndpointTarget[] = [];
  for (let admitted = first; ; ) {
    const { target } = admitted;
    tried.push(target);
    state.target = target;
    try {
      const message = dialect.readMessage(request, target, body, route);
      const response = await callOnce(admitted, message, startOf(admitted, admitted.admission, options));
      return await write(request, state, response, admitted.deadlineMonotonicMs);
    } catch (error) {
      const next = error instanceof UnreachableError ? alternatives.next(tried) : undefined;
      if (next === undefined || next.endpoint.shape !== target.endpoint.shape) throw error;
      // Changes of the rules may have been acknowledged since the first attempt.
      const admission = await options.guard.admit(admitted.credentials, next.endpoint);
      admitted = { ...admitted, target: next, admission };
    }
  }
}

/** The metadata, deadline and admission with which a call is opened at its service. */
export function startOf(
  admitted: Omit<AdmittedRequest, "admission" | "route">,
  admission: Admission,
  options: Pick<StageOptions, "guard" | "enrolment">,
): AdmittedStart {
  const { request, target, deadlineMonotonicMs: deadline } = admitted;
  const { path, method, shape } = target.endpoint;
  return {
    path,
    refusable: shape === "unary",
    repeatable: method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    metadata: metadataOf(admitted, admission, options),
    deadlineMonotonicMs: deadline,
    admission,
    callerAssertion: target.sendsAssertion ? options.guard.assertionOf(admission) : undefined,
    clientAddress: request.remoteAddress,
    trace: admitted.state.trace?.call(path),
  };
}

/**
 * Options of a streaming call. The call is opened at the service when its first message has
 * arrived, however late that is. The guard decides again at that time, unless the message was
 * received before the stage `admit` ended. In that case the admission is already newer than the
 * message.
 */
function streamOptions(admitted: AdmittedRequest, options: StageOptions): StreamCallOptions {
  const { request, state, route, target, credentials, admission, deadlineMonotonicMs: deadline } = admitted;
  const { guard, log, heartbeatMs = HEARTBEAT_MS } = options;
  const isLate = request.upgrade === true || state.dialect.takesChunks(request, target, route);
  const begin = async (): Promise<AdmittedStart> =>
    startOf(admitted, isLate ? await guard.admit(credentials, target.endpoint) : admission, options);
  let isByClient = false;
  return {
    ...{ target, route, guard, admission, deadlineMonotonicMs: deadline, begin, heartbeatMs },
    limited: countsMessages(target.endpoint) ? state.limited : undefined,
    completeDetails: (status) => completeDetails(admitted, status),
    toFailure(error) {
      // A stream that the service ends with CANCELLED has this status too, but another error.
      isByClient ||= error instanceof HttpError && error.status === CLIENT_GONE;
      return reportFailure(error, state, log);
    },
    onMetadata(headers, trailers) {
      const metadata = route.metadata ?? target.metadata;
      if (metadata.isAny || target.statuses !== undefined)
        state.response = responseOf(target, metadata, headers, trailers);
    },
    onEnd: ({ status, bytes, ...counts }) =>
      recordStream(request, state, { status, length: bytes, isByClient }, options, counts),
  };
}

/** Whether limits count each message of the client. A call with one message counts once. */
function countsMessages({ shape }: EndpointTarget["endpoint"]): boolean {
  return shape === "client_streaming" || shape === "bidi_streaming";
}

/**
 * The metadata that a service gets with a call, except the caller assertion. The list is closed: no
 * header of a client becomes metadata under its own name, unless the service is configured to
 * receive it. So no client can send metadata that looks like the gateway's.
 */
function metadataOf(
  {
    request,
    state,
    target,
    credentials: { token },
  }: Pick<AdmittedRequest, "request" | "state" | "target" | "credentials">,
  admission: Admission,
  { enrolment }: Pick<StageOptions, "enrolment">,
): Metadata {
  const { headers } = request;
  const metadata: Metadata[number][] = [
    ["platform-namespace", admission.namespace],
    ["x-request-id", state.requestId],
  ];
  const { trace } = state;
  // A traced call gets the `traceparent` of each attempt.
  if (trace?.tracestate !== undefined) metadata.push(["tracestate", trace.tracestate]);
  if (trace === undefined && headers.traceparent !== undefined) {
    const { parent, state } = traceOf(headers);
    if (parent !== undefined) metadata.push(["traceparent", parent]);
    if (state !== undefined) metadata.push(["tracestate", state]);
  }
  const passed = state.route?.metadata ?? target.metadata;
  if (passed.isAny) metadata.push(...passed.read(request.rawHeaders));
  switch (target.identity) {
    case "token":
      // If the guard knows no caller for the token, the authority knows none either. So the token
      // is not sent.
      if (token !== undefined && admission.caller !== undefined) metadata.push(["authorization", `Bearer ${token}`]);
      if (enrolment !== undefined && target.endpoint.service === "auth") {
        metadata.push(["x-portico-gateway", enrolment], [CLIENT_ADDRESS, request.remoteAddress]);
      }
      break;
    case "names":
      if (admission.caller !== undefined) metadata.push(["x-portico-account", admission.caller.account]);
      metadata.push(["x-portico-namespace", admission.namespace], [CLIENT_ADDRESS, request.remoteAddress]);
      break;
    case "assertion":
      metadata.push([CLIENT_ADDRESS, request.remoteAddress]);
      break;
    case "none":
  }
  return metadata;
}
