/**
 * Stage 6, call: reads the request message and calls the endpoint, in the way that its shape needs: one message each way,
 * a stream of answers, a body sent on piece by piece, or a WebSocket.
 */
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Admission, Credentials, SigningGuard } from "../../src/access/admission.js";
import type { Config } from "../../src/config.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { Alternatives, Target } from "../catalog/target.js";
import { HttpError } from "../errors.js";
import type { GatewayRequest, Reply } from "../http.js";
import type { Dialect } from "./dialect.js";
import { metadataOf } from "./metadata.js";
import { type RecordOptions, record } from "./record.js";
import { reportError } from "./respond.js";
import { isPlain } from "./route.js";
import type { RequestState } from "./state.js";
import type { AdmittedStart, StreamOptions } from "./stream-call.js";
import { callUnary, UnreachableError } from "./unary-call.js";

export interface CallOptions extends RecordOptions {
  readonly guard: SigningGuard;
  readonly dialect: Dialect;
  readonly config: Pick<Config, "callTime" | "maxCallTime">;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string | undefined;
  /** After how much silence a stream over plain HTTP gets a heartbeat, in milliseconds; default 15 s. */
  readonly heartbeatMs?: number | undefined;
}

const HEARTBEAT_MS = 15_000;

/** An admitted request, without its body: a stream keeps this for as long as it is open. */
export interface AdmittedRequest {
  readonly request: GatewayRequest;
  readonly state: RequestState;
  readonly target: Target;
  readonly credentials: Credentials;
  readonly admission: Admission;
  /** When the call must have ended, in milliseconds of `Date.now()`. */
  readonly deadline: number | undefined;
}

/**
 * Ends a request with:
 * - 101 a WebSocket
 * - 204 a client that comes back to a stream of events that it has had to its end
 * - 400 the message does not fit the endpoint, or a query where none is read
 * - 426 the endpoint takes a stream of messages, and the request asks for no WebSocket
 * - 499 the client has gone
 * - 502 the service broke the protocol, or did not answer with one message
 * - 503 the service cannot be reached, or the gateway stops
 * - 504 the deadline has passed, or the service took nothing of an upload for too long
 * - any error of the service, by its gRPC code
 * @returns the one answer in wire bytes; the reply where the call goes on after the response has begun
 */
export function call(
  admitted: AdmittedRequest,
  body: readonly Uint8Array[],
  options: CallOptions,
): Promise<Uint8Array> | Promise<Reply> | Reply {
  const { request, target, admission } = admitted;
  const { dialect } = options;
  if (request.upgrade) return dialect.openWebSocket(request, streamOptions(admitted, options));
  if (request.method === "POST" && dialect.takesPieces(target)) {
    return dialect.upload(request, streamOptions(admitted, options));
  }
  checkPlain(target.endpoint);
  if (target.alternatives !== undefined && target.endpoint.shape === "unary") {
    return callAnyContract(admitted, target.alternatives, body, options);
  }
  const message = dialect.readMessage(request, target, body);
  if (target.endpoint.shape !== "unary") {
    // The message is there, so that the admission is as new as the message: there is no need to decide again.
    const begin = (): AdmittedStart => startOf(admitted, admission, options);
    return dialect.openStream(request, message, { ...streamOptions(admitted, options), begin });
  }
  return callOnce(admitted, message, startOf(admitted, admission, options));
}

/** When a call must have ended, in milliseconds of `Date.now()`. A stream has no deadline but one that the client sets. */
export function deadlineOf(
  { shape }: Endpoint,
  timeout: number | undefined,
  { callTime, maxCallTime }: CallOptions["config"],
): number | undefined {
  if (shape === "unary") return Date.now() + Math.min(timeout ?? callTime, maxCallTime);
  return timeout === undefined ? undefined : Date.now() + timeout;
}

function checkPlain(endpoint: Endpoint): void {
  if (isPlain(endpoint)) return;
  throw new HttpError(426, `${endpoint.name} takes a stream of messages: open a WebSocket at this path`, {
    headers: ["Upgrade", "websocket", "Connection", "Upgrade"],
  });
}

function callOnce(
  { request, target }: AdmittedRequest,
  message: Uint8Array,
  start: AdmittedStart,
): Promise<Uint8Array> {
  const { channel, endpoint } = target;
  return callUnary(channel, start, message, endpoint.service, (stop) => request.onAbort(stop));
}

/**
 * Where instances differ in their contract: calls an instance by its contract. Where no instance of that contract has seen the
 * call, calls one of another contract, with the message encoded by that.
 */
async function callAnyContract(
  first: AdmittedRequest,
  alternatives: Alternatives,
  body: readonly Uint8Array[],
  options: CallOptions,
): Promise<Reply> {
  const { request, state } = first;
  const { dialect } = options;
  const tried: Target[] = [];
  for (let admitted = first; ; ) {
    const { target } = admitted;
    tried.push(target);
    state.target = target;
    try {
      const message = dialect.readMessage(request, target, body);
      const answer = await callOnce(admitted, message, startOf(admitted, admitted.admission, options));
      return dialect.writeMessage(target, answer);
    } catch (error) {
      const next = error instanceof UnreachableError ? alternatives.next(tried) : undefined;
      if (next === undefined || next.endpoint.shape !== target.endpoint.shape) throw error;
      admitted = { ...admitted, target: next };
    }
  }
}

/** How an admitted call begins at its service. */
function startOf(
  { request, state, target, credentials, deadline }: AdmittedRequest,
  admission: Admission,
  { guard, enrolment }: CallOptions,
): AdmittedStart {
  const { endpoint } = target;
  const { headers, remoteAddress: clientAddress } = request;
  const { requestId } = state;
  const { token } = credentials;
  return {
    path: endpoint.path,
    repeatable: endpoint.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    metadata: metadataOf({ target, admission, guard, headers, requestId, token, clientAddress, enrolment }),
    deadline,
    admission,
    clientAddress,
  };
}

/** A stream begins at its service with its first message, however late that comes; the guard decides again then. */
function streamOptions(admitted: AdmittedRequest, options: CallOptions): StreamOptions {
  const { request, state, target, credentials, admission, deadline } = admitted;
  const { guard, log, heartbeatMs = HEARTBEAT_MS } = options;
  const begin = (): AdmittedStart | Promise<AdmittedStart> => {
    const late = guard.admit(credentials, target.endpoint);
    if (!(late instanceof Promise)) return startOf(admitted, late, options);
    return late.then((admission) => startOf(admitted, admission, options));
  };
  return {
    ...{ channel: target.channel, guard, admission, deadline, begin, target, heartbeatMs },
    toReply: (error) => reportError(error, state, log),
    onEnd: ({ status, bytes, ...counts }) => record(request, state, { status, length: bytes }, options, counts),
  };
}
