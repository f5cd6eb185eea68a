/** What is recorded of each request when it ends: one line in the log, a count in the metrics, and one in the usage. */
import type { Endpoint } from "../../src/contract/endpoint.js";
import type { Logger } from "../../src/log.js";
import type { Metrics } from "../../src/metrics.js";
import { type GatewayRequest, type GatewayResponse, pathOf, printablePath } from "../http.js";
import type { RequestState } from "./state.js";

/** Counts calls for the authority. */
export interface CallCounter {
  /**
   * @param namespace in which the call was admitted; undefined for a call that was refused
   * @param requested the namespace that the request names
   */
  record(
    endpoint: Endpoint,
    namespace: string | undefined,
    requested: string | undefined,
    status: number,
    seconds: number,
  ): void;
}

export interface RecordOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly usage?: CallCounter | undefined;
}

/** How many messages a stream carried. */
export interface StreamCounts {
  /** Sent to the client. */
  readonly messages: number;
  /** Received from the client, over a WebSocket. */
  readonly received?: number;
}

export function record(
  request: GatewayRequest,
  state: RequestState,
  { status, length }: Pick<GatewayResponse, "status" | "length">,
  { log, metrics, usage }: RecordOptions,
  counts?: StreamCounts,
): void {
  const { target, admission, requestId } = state;
  const ms = performance.now() - state.started;
  metrics.request(target?.endpoint, status, ms / 1000);
  if (target) usage?.record(target.endpoint, admission?.namespace, request.headers.namespace, status, ms / 1000);
  log.info({
    requestId,
    method: request.method,
    endpoint: target?.endpoint.name,
    // Without an endpoint the path tells what was wanted. A query may hold anything, so it is never logged.
    path: target === undefined ? printablePath(pathOf(request.target)) : undefined,
    status,
    ms: Math.round(ms * 1000) / 1000,
    account: admission?.caller?.account,
    // A caller that was refused is known by nothing else.
    address: status === 401 || status === 403 || status === 429 ? request.remoteAddress : undefined,
    namespace: admission?.namespace,
    bytes: length,
    failure: state.failure,
    ...counts,
  });
}
