/**
 * Counts and durations of requests and calls, and the process's own metrics, in the text format of
 * Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/). The number of label
 * values is bounded: endpoints come from the catalog with their canonical names, which need no
 * quoting. A request without an endpoint counts as `gateway`.
 *
 * Requests are counted in plain numbers here. Only the process's metrics come from prom-client,
 * because it looks up labels at each use (see docs/performance.md).
 */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Endpoint } from "./contract/endpoint.js";
import { Code } from "./errors.js";

/** Upper bounds of request times, in seconds. */
export const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, Infinity];

/**
 * The client errors that usage counts separately, in the order of Tally.by_status
 * (proto/portico/auth/v1/usage.proto).
 */
export const COUNTED_STATUSES = [400, 401, 403, 404, 429];

/** The index in BOUNDS of the lowest bound that a duration does not exceed. */
export function boundOf(seconds: number): number {
  let bound = 0;
  while (seconds > BOUNDS[bound]!) bound++;
  return bound;
}

const GATEWAY = "gateway";

/** The counts of one endpoint. */
interface Counted {
  readonly service: string;
  readonly endpoint: string;
  readonly byCode: Map<number | string, number>;
  /** The number of durations for each bound of BOUNDS, each counted at its lowest bound only. */
  readonly byBound: number[];
  /** The sum of all durations. */
  seconds: number;
}

export class Metrics {
  readonly #process = new Registry();
  readonly #requests = new Family("portico_request", "Requests answered over HTTP, by status");
  readonly #calls = new Family("portico_grpc_call", "Calls answered over gRPC, by code");
  readonly contentType = this.#process.contentType;

  /**
   * Has the number of refused calls; undefined in a process that refuses nothing in an overload.
   */
  overload: { readonly refused: number } | undefined;

  /**
   * By service: the calls that a gateway refused because the service was overloaded; undefined in a
   * process that is no gateway.
   */
  refusedByService: (() => Iterable<readonly [service: string, refused: number]>) | undefined;

  /**
   * By reason: the changes that an authority refused; undefined in a process that is no authority.
   */
  changesRefused: (() => Iterable<readonly [reason: string, refused: number]>) | undefined;

  /**
   * By share: the records that the audit trail of an authority replaced by newer ones; undefined in
   * a process that is no authority.
   */
  recordsDropped: (() => Iterable<readonly [share: string, dropped: number]>) | undefined;

  /** By the ID of a limit of calls: the calls that it refused. */
  readonly #limitRefused = new Map<string, number>();

  constructor() {
    collectDefaultMetrics({ register: this.#process });
    // They are gauges with a suffix of counters; `sum(nodejs_active_resources)` and so on have the
    // same values.
    for (const kind of ["handles", "requests", "resources"]) {
      this.#process.removeSingleMetric(`nodejs_active_${kind}_total`);
    }
  }

  /** Counts an HTTP response. Without an endpoint, the gateway itself responded. */
  request(endpoint: Endpoint | undefined, status: number, seconds: number): void {
    this.#requests.count(endpoint, status, seconds);
  }

  /** Counts a response over gRPC. */
  grpcCall(endpoint: Endpoint, code: Code, seconds: number): void {
    // A service may have any number of its own codes, so they share one label value.
    this.#calls.count(endpoint, Code[code] ?? "OTHER", seconds);
  }

  /** Counts a call, or a message of a stream, that a limit of calls refused. */
  limitRefused(limit: string): void {
    this.#limitRefused.set(limit, (this.#limitRefused.get(limit) ?? 0) + 1);
  }

  /** All metrics in the text format. */
  async text(): Promise<string> {
    const refused = this.overload === undefined ? [] : refusedLines(this.overload.refused);
    const byService = this.refusedByService === undefined ? [] : serviceLines(this.refusedByService());
    const changes = this.changesRefused === undefined ? [] : changeLines(this.changesRefused());
    const records = this.recordsDropped === undefined ? [] : recordLines(this.recordsDropped());
    const limits = this.#limitRefused.size === 0 ? [] : limitLines(this.#limitRefused);
    const refusals = [...refused, ...byService, ...changes, ...limits];
    const own = [...this.#requests.lines(), ...this.#calls.lines(), ...refusals, ...records];
    return [...own, await this.#process.metrics()].join("\n");
  }
}

function refusedLines(count: number): string[] {
  const name = "portico_overload_refused_total";
  return [
    `# HELP ${name} Calls refused because they had waited too long for the processor.`,
    `# TYPE ${name} counter`,
    `${name} ${count}`,
  ];
}

function serviceLines(counts: Iterable<readonly [service: string, refused: number]>): string[] {
  const help = "Calls refused with 503 because the service has more than it can process.";
  return linesOf("portico_service_overload_refused_total", help, "service", counts);
}

function changeLines(counts: Iterable<readonly [reason: string, refused: number]>): string[] {
  const help = "Changes refused with 503 because of the store or the clock, by reason.";
  return linesOf("portico_changes_refused_total", help, "reason", counts);
}

function limitLines(counts: Iterable<readonly [limit: string, refused: number]>): string[] {
  const help = "Calls, and messages of streams, that a limit of calls refused, by limit.";
  return linesOf("portico_limit_refused_total", help, "limit", counts);
}

function recordLines(counts: Iterable<readonly [share: string, dropped: number]>): string[] {
  const help = "Records of the audit trail that gave way to newer ones of their share.";
  return linesOf("portico_audit_records_dropped_total", help, "share", counts);
}

/** A counter with one label. */
function linesOf(name: string, help: string, label: string, counts: Iterable<readonly [string, number]>): string[] {
  const values = [...counts].map(([value, count]) => `${name}{${label}="${value}"} ${count}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, ...values];
}

/** The counts of one kind of call, by endpoint. */
class Family {
  readonly #name: string;
  readonly #help: string;
  readonly #counted = new Map<string, Counted>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  count(endpoint: Endpoint | undefined, code: number | string, seconds: number): void {
    const counted = this.#counted.get(endpoint?.name ?? GATEWAY) ?? this.#add(endpoint);
    counted.byCode.set(code, (counted.byCode.get(code) ?? 0) + 1);
    counted.byBound[boundOf(seconds)]!++;
    counted.seconds += seconds;
  }

  lines(): string[] {
    const all = [...this.#counted.values()];
    return [
      `# HELP ${this.#name}s_total ${this.#help}.`,
      `# TYPE ${this.#name}s_total counter`,
      ...all.flatMap((counted) => this.#counts(counted)),
      `# HELP ${this.#name}_duration_seconds Time from the beginning to the last of the answer.`,
      `# TYPE ${this.#name}_duration_seconds histogram`,
      ...all.flatMap((counted) => this.#times(counted)),
    ];
  }

  #add(endpoint: Endpoint | undefined): Counted {
    const { service, name } = endpoint ?? { service: GATEWAY, name: GATEWAY };
    const counted = { service, endpoint: name, byCode: new Map(), byBound: BOUNDS.map(() => 0), seconds: 0 };
    this.#counted.set(name, counted);
    return counted;
  }

  #counts({ service, endpoint, byCode }: Counted): string[] {
    const labels = `service="${service}",endpoint="${endpoint}"`;
    return [...byCode].map(([code, count]) => `${this.#name}s_total{${labels},code="${code}"} ${count}`);
  }

  #times({ service, endpoint, byBound, seconds }: Counted): string[] {
    const labels = `service="${service}",endpoint="${endpoint}"`;
    const name = `${this.#name}_duration_seconds`;
    let within = 0;
    const buckets = BOUNDS.map((bound, at) => {
      within += byBound[at]!;
      const le = bound === Infinity ? "+Inf" : bound;
      return `${name}_bucket{${labels},le="${le}"} ${within}`;
    });
    return [...buckets, `${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${within}`];
  }
}
