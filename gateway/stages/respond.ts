/**
 * Stage 7, respond: writes the response of the service, and adds the headers that every response
 * has. It also converts the errors of every stage into responses.
 */
import { rateLimitHeaders } from "../../src/call/rate-limit.js";
import { GATEWAY } from "../../src/contract/names.js";
import { mayQuoteSecrets } from "../../src/contract/secrets.js";
import { Code, StatusError } from "../../src/errors.js";
import { type Logger, loggable } from "../../src/log.js";
import type { EndpointTarget, Route } from "../catalog/target.js";
import {
  CLIENT_GONE,
  type Failure,
  type HttpError,
  NO_MEMORY,
  OVERLOADED,
  OverloadError,
  toFailure,
  UnreachableError,
} from "../http/errors.js";
import { type BareResponse, type GatewayRequest, type GatewayResponse, isStream } from "../http/message.js";
import { encoded, isLarge } from "./compress.js";
import { CrossOriginError, isLoopbackHost } from "./cors.js";
import type { Written } from "./dialect.js";
import type { StageOptions } from "./options.js";
import { RequestState, record, recordStream } from "./record.js";

/**
 * Maximum size of a response, in bytes, for which no memory is reserved: the operating system most
 * likely accepts it at once.
 */
const MAX_UNRESERVED = 16 * 1024;

/**
 * The reply to a call, where no types have to be fetched from the service first.
 * @param response the response message of a unary call in wire bytes, or a reply from an earlier
 * stage
 * @returns undefined where types have to be fetched: then `write` writes the reply
 */
export function writeAtOnce(
  request: GatewayRequest,
  state: RequestState,
  response: Uint8Array | Written,
): Written | undefined {
  if (!(response instanceof Uint8Array)) return response;
  const { dialect } = state;
  const target = state.target as EndpointTarget;
  const route = state.route as Route;
  return target.completeAtOnce(() => dialect.writeMessage(request, target, response, state.response, route));
}

/**
 * Does the same as `writeAtOnce`, but fetches types from the service first where they are missing.
 * @param deadlineMonotonicMs of the call, in milliseconds of `performance.now()`
 */
export async function write(
  request: GatewayRequest,
  state: RequestState,
  response: Uint8Array | Written,
  deadlineMonotonicMs: number | undefined,
): Promise<Written> {
  if (!(response instanceof Uint8Array)) return response;
  const { dialect } = state;
  const target = state.target as EndpointTarget;
  const route = state.route as Route;
  return target.complete(
    () => dialect.writeMessage(request, target, response, state.response, route),
    deadlineMonotonicMs,
  );
}

/**
 * Does the same as `respond`, where the reply need not be compressed.
 * @returns undefined where the reply may have to be compressed
 */
export function respondAtOnce(
  request: GatewayRequest,
  state: RequestState,
  reply: Written,
  options: StageOptions,
): GatewayResponse | undefined {
  return typeof reply === "function" || isLarge(reply) ? undefined : finish(request, state, reply, options);
}

/**
 * Ends a request with:
 * - 200 the response of the service
 * - 502 the response is not a message of the endpoint's type, or too large
 * - 503 there is no memory for the response while the client reads it
 * @param written a reply returned by `write`, or by an earlier stage
 */
export async function respond(
  request: GatewayRequest,
  state: RequestState,
  written: Written,
  options: StageOptions,
): Promise<GatewayResponse> {
  const reply = typeof written === "function" ? await written() : written;
  const sent = isLarge(reply) ? await encoded(request, state, reply) : reply;
  return finish(request, state, sent, options);
}

function finish(
  request: GatewayRequest,
  state: RequestState,
  reply: BareResponse,
  options: StageOptions,
): GatewayResponse {
  const response = complete(request, state, reply, options);
  if (response.length > MAX_UNRESERVED && !request.tryReserveResponse(response.length)) throw NO_MEMORY;
  return recorded(request, state, response, response.status, options);
}

/** The response to anything that a stage threw. */
export function reject(
  request: GatewayRequest,
  state: RequestState,
  thrown: unknown,
  options: StageOptions,
): GatewayResponse {
  const failure = challenged(reportFailure(thrown, state, options.log), request, options);
  // Clients may repeat what `gateway` refused with 429, because no service was called.
  if (state.limitRefusal !== undefined && state.limited === undefined) state.service = GATEWAY;
  const response = complete(request, state, state.dialect.writeError(request, failure, state), options);
  return recorded(request, state, response, failure.status, options);
}

/** A 401 names the metadata of the protected resource (RFC 9728 §5.1). */
function challenged(failure: Failure, request: GatewayRequest, { resource }: StageOptions): Failure {
  return failure.status === 401 ? { ...failure, headers: resource.challengeElsewhere(request) } : failure;
}

/**
 * The response to a request that is not handled. It is counted but not logged, because a flood of
 * rejected requests must cost little.
 */
export function refuse(request: GatewayRequest, reason: HttpError, options: StageOptions): GatewayResponse {
  const state = new RequestState(request, options.dialects.ofRefused(request));
  options.metrics.request(undefined, reason.status, 0);
  return complete(request, state, state.dialect.writeError(request, toFailure(reason), state), options);
}

/**
 * Records a request that has ended. A stream is recorded when it ends. The stream of a call is
 * recorded by the call itself.
 * @param status the HTTP status, also where the dialect has its own statuses
 */
function recorded(
  request: GatewayRequest,
  state: RequestState,
  response: GatewayResponse,
  status: number,
  options: StageOptions,
): GatewayResponse {
  const { session, body, length } = response;
  if (session !== undefined) return response;
  if (!isStream(body)) record(request, state, { status, length }, options);
  else {
    body.onClosed?.((status) =>
      recordStream(request, state, { status, length, isByClient: status === CLIENT_GONE }, options),
    );
  }
  return response;
}

/**
 * Converts an error into what the client gets, and stores for the log what only the operator may
 * read.
 */
export function reportFailure(thrown: unknown, state: RequestState, log: Logger): Failure {
  const failure = toFailure(thrown, state.dialect.usesServiceStatus);
  const { status } = failure;
  const isOverload = thrown instanceof OverloadError;
  if (status === 401 || status === 403 || status === 429 || isOverload) state.refusal = { error: thrown, status };
  if (thrown instanceof CrossOriginError) state.refusedOrigin = thrown.origin ?? "unknown";
  state.isLogged = !(isOverload || thrown === OVERLOADED);
  const mayQuote = state.target !== undefined && mayQuoteSecrets(state.target.endpoint);
  if (status >= 500)
    state.failure = mayQuote && isOfService(thrown, state) ? withheld(thrown) : messageWithCause(thrown);
  if (status === 500 && !(thrown instanceof StatusError)) {
    log.error(
      { requestId: state.requestId, trace_id: state.trace?.traceId, err: loggable(thrown, state.target?.endpoint) },
      "bug",
    );
  }
  return failure;
}

/** Whether a service wrote the error: an admitted call reached it. */
function isOfService(thrown: unknown, { admission }: RequestState): thrown is StatusError {
  return admission !== undefined && thrown instanceof StatusError && !(thrown instanceof UnreachableError);
}

function withheld({ code }: StatusError): string {
  return `${Code[code] ?? code}: the service's message is not logged, because the request has secret fields`;
}

function messageWithCause(thrown: unknown): string {
  const { message, cause } = thrown as Error;
  return cause === undefined ? message : `${message}: ${cause instanceof Error ? cause.message : cause}`;
}

const NO_HEADERS: readonly string[] = [];
const NO_SNIFFING = ["X-Content-Type-Options", "nosniff"];
/**
 * For a year browsers send no plain HTTP to this host name (RFC 6797). Not sent for loopback names,
 * because another program may serve plain HTTP at another port of the same name.
 */
const STRICT_TRANSPORT = ["Strict-Transport-Security", "max-age=31536000"];
const STANDARD = ["Cache-Control", "no-store", ...NO_SNIFFING];

function complete(
  request: GatewayRequest,
  state: RequestState,
  { status, body, headers: own = NO_HEADERS, contentType = "application/json", trailers, session }: BareResponse,
  { cors, config: { httpTlsCert } }: StageOptions,
): GatewayResponse {
  const { requestId, limitState } = state;
  const limits = limitState === undefined ? NO_HEADERS : rateLimitHeaders(limitState);
  if (session !== undefined)
    return { status, headers: ["X-Request-Id", requestId, ...limits], body, length: 0, session };
  const standard = own.includes("Cache-Control") ? NO_SNIFFING : STANDARD;
  const isOpen = own.length > 0 && own.includes("Access-Control-Allow-Origin");
  const corsHeaders = isOpen ? NO_HEADERS : cors.headers(request.headers);
  const headers = [...standard, "X-Request-Id", requestId];
  if (corsHeaders.length + own.length > 0) headers.push(...corsHeaders, ...own);
  if (limitState !== undefined) headers.push(...limits);
  if (httpTlsCert !== undefined && !isLoopbackHost(request.headers.host ?? "")) headers.push(...STRICT_TRANSPORT);
  if (isStream(body)) {
    headers.push("Content-Type", contentType);
    return { status, headers, body, length: 0 };
  }
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  if (status !== 204 && status !== 304) headers.push("Content-Type", contentType, "Content-Length", String(length));
  return { status, headers, body, length, trailers };
}
