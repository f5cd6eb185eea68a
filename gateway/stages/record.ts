/**
 * The state of one request, and its record when it ends: a line in the log, and counts in metrics
 * and usage.
 */
import { randomBytes } from "node:crypto";
import { type Admission, type Guard, type RefusalCause, RefusalError } from "../../src/call/admission.js";
import { calledWith } from "../../src/call/caller.js";
import { type CountedCall, type LimitedCall, LimitedError, type LimitState } from "../../src/call/limited-call.js";
import { isRequestId } from "../../src/call/metadata.js";
import { accessLogShare } from "../../src/config/access-log.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { HEALTH_SERVICE } from "../../src/rpc/health.js";
import { parseTraceparent } from "../../src/telemetry/trace-context.js";
import type { EndpointTarget, Route } from "../catalog/target.js";
import { OverloadError } from "../http/errors.js";
import type { GatewayRequest, GatewayResponse } from "../http/message.js";
import { pathOf, printablePath } from "../http/target.js";
import { type Dialect, type FailedRequest, NO_RESPONSE_METADATA, type ResponseMetadata } from "./dialect.js";
import type { RefusalLog, StageOptions } from "./options.js";
import type { StreamEnd } from "./stream-call.js";
import type { RequestTrace } from "./trace.js";

const PROBES: ReadonlySet<string> = new Set(["/livez", "/readyz"]);

/**
 * The first part of every request ID that this process makes. A counter follows, because a random
 * ID for each request would cost more.
 */
const PROCESS = randomBytes(9).toString("base64url");
let requests = 0;
const NO_ADMISSION: Partial<Admission> = {};

/** What the stages have found out about one request so far. */
export class RequestState implements FailedRequest, CountedCall {
  /** When the request arrived, in milliseconds of `performance.now()`. */
  readonly started = performance.now();
  /**
   * The client's X-Request-Id where it is well-formed, otherwise a new one. A new ID is unique,
   * also among several gateways, but not secret.
   */
  readonly requestId: string;
  /** The service that the request is directed to; `gateway` until one is found. */
  service = "gateway";
  /** The endpoint that is called, from the stage `route` on. */
  target: EndpointTarget | undefined;
  /** The route to the endpoint. */
  route: Route | undefined;
  /**
   * The dialect of the request. Where only the path shows it, it is final from the stage `route`
   * on.
   */
  dialect: Dialect;
  /** The metadata of the service's response. */
  response: ResponseMetadata = NO_RESPONSE_METADATA;
  /** The client's address. */
  readonly address: string;
  /** No client of the HTTP port sends a caller assertion. */
  readonly asserted = false;
  /** The guard's decision, from the stage `admit` on. */
  admission: Admission | undefined;
  /** The admission by which limits of calls have counted the request, or are counting it. */
  counted: Admission | undefined;
  /** Resolves when limits have counted the request, where that has to wait; may reject. */
  counting: Promise<void> | undefined;
  /** The request as limits count it; undefined where none does. */
  limited: LimitedCall | undefined;
  /** The spans of the request; undefined if it is not traced. */
  trace: RequestTrace | undefined;
  #hasEnded = false;
  /**
   * Why the gateway or a service failed. It is written for the operator; the caller gets less
   * detail.
   */
  failure: string | undefined;
  /** The origin of the page that may not call, if that is why the request was refused. */
  refusedOrigin: string | undefined;
  /** The error that refused the request, and its status: 401, 403, 429, or 503 for an overload. */
  refusal: { readonly error: unknown; readonly status: number } | undefined;
  /**
   * Whether the request gets a line in the log. A call that is rejected because of overload is only
   * counted, because a flood of such calls must cost little.
   */
  isLogged = true;

  constructor({ headers, remoteAddress }: GatewayRequest, dialect: Dialect) {
    const { requestId } = headers;
    this.dialect = dialect;
    this.address = remoteAddress;
    const isGiven = requestId !== undefined && isRequestId(requestId);
    this.requestId = isGiven ? requestId : `${PROCESS}-${(++requests).toString(36)}`;
    // Portico's own pages name the request by it, to people and to the authority.
    headers.requestId = this.requestId;
  }

  /**
   * Lets limits count the request, the first time. Portico's own endpoints are exempt.
   * @returns a promise where that has to wait
   * @throws {LimitedError} (or rejects with one)
   */
  count(admission: Admission, guard: Guard): Promise<void> | undefined {
    if (this.counted !== undefined || admission.endpoint.callers !== undefined) return undefined;
    this.counted = admission;
    const limited = guard.count(admission, this);
    if (!(limited instanceof Promise)) this.limited = limited;
    else {
      this.counting = limited.then((counted) => {
        this.limited = counted;
      });
    }
    return this.counting;
  }

  /** Tells the limits that the request has ended. */
  end(): void {
    if (this.limited === undefined || this.#hasEnded) return;
    this.#hasEnded = true;
    this.limited.end();
  }

  /** The error of the limit that refused the request, or a message of its stream. */
  get limitRefusal(): LimitedError | undefined {
    const error = this.refusal?.error;
    return error instanceof LimitedError ? error : undefined;
  }

  /** What the limits leave; undefined where none counts the request. */
  get limitState(): LimitState | undefined {
    return this.limitRefusal?.state ?? this.limited?.state;
  }
}

/**
 * Whether a request is a successful health probe. Load balancers send probes all the time, and no
 * caller waits for them.
 */
function isProbe({ target }: GatewayRequest, endpoint: Endpoint | undefined, status: number): boolean {
  if (endpoint !== undefined) return endpoint.grpcService === HEALTH_SERVICE;
  return (status === 200 || status === 503) && PROBES.has(pathOf(target));
}

/** Only what the guard or the service decided is recorded, not what the path or the body says. */
function recordRefusal(
  { remoteAddress: address }: GatewayRequest,
  { target, admission: decided, counted, requestId }: RequestState,
  { error, status }: NonNullable<RequestState["refusal"]>,
  refusals: RefusalLog,
): void {
  const endpoint = target?.endpoint.name;
  if (endpoint === undefined) return;
  if (error instanceof RefusalError && error.refused !== undefined) {
    refusals.record({ endpoint, refused: error.refused, status, address, requestId });
    return;
  }
  const isLimit = error instanceof LimitedError;
  const admission = isLimit ? counted : decided;
  if (admission === undefined) return;
  const { namespace, caller } = admission;
  const reason = isLimit ? "CALL_LIMIT" : error instanceof OverloadError ? "OVERLOAD" : "SERVICE";
  const cause = isLimit ? error.state.limit : "";
  const named = {
    namespace,
    account: caller?.account ?? "",
    key: caller === undefined ? "" : calledWith(caller),
    cause,
  };
  refusals.record({ endpoint, refused: { ...named, reason }, status, address, requestId });
}

/**
 * The account and key that the guard refused, if the token is or was one of this namespace. A token
 * that was never valid counts for no account.
 */
function refusedCaller({ refusal }: RequestState): RefusalCause | undefined {
  const refused = refusal?.error instanceof RefusalError ? refusal.error.refused : undefined;
  const isKnown = refused !== undefined && refused.account !== "" && refused.reason !== "OTHER_TOKEN";
  return isKnown ? refused : undefined;
}

type Counts = Pick<StreamEnd, "messages" | "received">;

/**
 * Records a stream that has ended after its response had begun. Most streams end when their client
 * has seen enough, so that is recorded as a success, with `endedBy` in the log.
 */
export function recordStream(
  request: GatewayRequest,
  state: RequestState,
  { status, length, isByClient }: Pick<GatewayResponse, "status" | "length"> & { readonly isByClient: boolean },
  options: StageOptions,
  counts?: Counts,
): void {
  const end = isByClient ? { status: 200, length } : { status, length };
  record(request, state, end, options, isByClient ? { ...counts, endedBy: "client" } : counts);
}

/**
 * Records a request that has ended, and tells the limits that count it. Health probes are not
 * recorded.
 */
export function record(
  request: GatewayRequest,
  state: RequestState,
  { status, length }: Pick<GatewayResponse, "status" | "length">,
  { config, log, accessLog = log, metrics, usage, refusals }: StageOptions,
  more?: Partial<Counts> & { readonly endedBy?: "client" },
): void {
  state.end();
  const { target, requestId, limitRefusal } = state;
  const admission = state.admission ?? (limitRefusal && state.counted);
  if (limitRefusal !== undefined) metrics.limitRefused(limitRefusal.state.limit);
  if (isProbe(request, target?.endpoint, status)) return;
  state.trace?.end(request, state, status);
  const ms = performance.now() - state.started;
  metrics.request(target?.endpoint, status, ms / 1000);
  if (target) {
    const refused = admission === undefined ? refusedCaller(state) : undefined;
    const { namespace, caller } = admission ?? NO_ADMISSION;
    const known = refused?.namespace ?? namespace;
    usage?.record(target.endpoint, known, request.headers.namespace, status, ms / 1000, caller, refused);
  }
  if (state.refusal !== undefined && refusals !== undefined) recordRefusal(request, state, state.refusal, refusals);
  if (!state.isLogged) return;
  const sample = accessLogShare(config, status >= 400);
  if (sample === 0) return;
  accessLog.info({
    requestId,
    trace_id: state.trace?.traceId ?? parseTraceparent(request.headers.traceparent)?.traceId,
    span_id: state.trace?.spanId,
    method: request.method,
    dialect: state.dialect.name,
    endpoint: target?.endpoint.name,
    // Without an endpoint the path shows what the caller wanted. A query may contain anything, so
    // it is never logged.
    path: target === undefined ? printablePath(pathOf(request.target)) : undefined,
    status,
    ms: Math.round(ms * 1000) / 1000,
    account: admission?.caller?.account,
    key: admission?.caller && (calledWith(admission.caller) || undefined),
    address: state.address,
    namespace: admission?.namespace,
    bytes: length,
    origin: state.refusedOrigin,
    limit: limitRefusal?.state.limit,
    failure: state.failure,
    sample: sample < 1 ? sample : undefined,
    ...more,
  });
}
