/**
 * All metrics of Portico's own, in the order in which they are written. Names follow the
 * conventions of Prometheus (https://prometheus.io/docs/practices/naming/). Values of labels are
 * bounded: endpoints and services come from the catalog, limits from the rules, and all others from
 * lists in the code. docs/metrics.md has this list as a table.
 */

export interface Metric {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** The roles whose processes have it. */
  readonly roles: readonly string[];
}

const EVERY: readonly string[] = ["server", "gateway", "authority", "service"];
const GATEWAY: readonly string[] = ["server", "gateway"];
const GRPC: readonly string[] = ["server", "authority", "service"];
const AUTHORITY: readonly string[] = ["server", "authority"];
const REFUSING: readonly string[] = ["server", "gateway", "service"];

type Row = readonly [type: Metric["type"], roles: Metric["roles"], labels: readonly string[], help: string];

const metricsOf = <const N extends string>(rows: Readonly<Record<N, Row>>): Readonly<Record<N, Metric>> =>
  Object.fromEntries(
    Object.entries<Row>(rows).map(([name, [type, roles, labels, help]]) => [name, { type, roles, labels, help }]),
  ) as Record<N, Metric>;

export const METRICS = metricsOf({
  portico_requests_total: [
    "counter",
    GATEWAY,
    ["service", "endpoint", "code"],
    "Requests answered over HTTP, by status.",
  ],
  portico_request_duration_seconds: [
    "histogram",
    GATEWAY,
    ["service", "endpoint"],
    "Time from the beginning of a request to the end of its response.",
  ],
  portico_grpc_calls_total: ["counter", GRPC, ["service", "endpoint", "code"], "Calls answered over gRPC, by code."],
  portico_grpc_call_duration_seconds: [
    "histogram",
    GRPC,
    ["service", "endpoint"],
    "Time from the beginning of a call to the end of its response.",
  ],
  portico_build_info: [
    "gauge",
    EVERY,
    ["version", "commit", "node", "role"],
    "1, with the version of Portico, the commit that it was built from, the version of Node, and the role.",
  ],
  portico_ready: ["gauge", EVERY, [], "1 while /readyz says 200, otherwise 0."],
  portico_degraded: ["gauge", EVERY, [], "1 while /readyz gives reasons for degraded, otherwise 0."],
  portico_guard_lease_remaining_seconds: [
    "gauge",
    EVERY,
    [],
    "Time until the guard of this process may decide no more unless an authority responds; 0 when it decides nothing.",
  ],
  portico_guard_revision: ["gauge", EVERY, [], "The revision of the authority's log that the guard has applied."],
  portico_open_streams: ["gauge", EVERY, [], "Open streams that the guard authorizes again at each change."],
  portico_connections: [
    "gauge",
    EVERY,
    ["protocol"],
    "Open connections of clients, by http1, http2, websocket or grpc.",
  ],
  portico_certificate_expiry_timestamp_seconds: [
    "gauge",
    EVERY,
    ["setting"],
    "When a certificate expires, in seconds since 1970, by the setting that names its file.",
  ],
  portico_overload_refused_total: [
    "counter",
    REFUSING,
    [],
    "Calls refused because they had waited too long for the processor.",
  ],
  portico_limit_refused_total: [
    "counter",
    EVERY,
    ["limit"],
    "Calls, and messages of streams, that a limit of calls refused, by limit.",
  ],
  portico_service_overload_refused_total: [
    "counter",
    GATEWAY,
    ["service"],
    "Calls refused with 503 because the service has more than it can process.",
  ],
  portico_service_instances: [
    "gauge",
    GATEWAY,
    ["service", "state"],
    "Addresses of a service's instances, by ready, idle, connecting, unreachable, ejected or not_serving.",
  ],
  portico_service_ejections_total: [
    "counter",
    GATEWAY,
    ["service"],
    "How often an instance got no calls for a while because it failed more than the others.",
  ],
  portico_store_errors_total: [
    "counter",
    GRPC,
    ["store"],
    "Operations of a store that failed, by authority or services.",
  ],
  portico_authority_revision: ["gauge", AUTHORITY, [], "The revision of the newest change in the authority's log."],
  portico_authority_guards: ["gauge", AUTHORITY, [], "Guards that follow this authority, its own included."],
  portico_changes_refused_total: [
    "counter",
    AUTHORITY,
    ["reason"],
    "Changes refused with 503 because of the store or the clock, by reason.",
  ],
  portico_audit_records_dropped_total: [
    "counter",
    AUTHORITY,
    ["share"],
    "Records of the audit trail that gave way to newer ones of their share.",
  ],
  portico_sign_ins_total: [
    "counter",
    AUTHORITY,
    ["kind"],
    "Sign-ins that succeeded at this authority: a login, a session of the pages, or a grant for a client.",
  ],
  portico_failed_logins_total: [
    "counter",
    AUTHORITY,
    ["reason"],
    "Attempts with a wrong password, and attempts that were throttled because of earlier ones.",
  ],
  portico_spans_dropped_total: ["counter", EVERY, ["reason"], "Spans that were not sent to the collector, by reason."],
});

export type MetricName = keyof typeof METRICS;
