/**
 * The metrics of a process, in the text format of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). metric-list.ts has their names.
 *
 * Requests are counted in plain numbers here, by endpoint: a request without an endpoint counts as
 * `gateway`. Every other value is read from the part that knows it when the metrics are asked for,
 * so it costs calls nothing. Only the metrics of Node and of the process come from prom-client,
 * because it looks up labels at each use (see docs/performance.md).
 */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Endpoint } from "./contract/endpoint.js";
import { Code } from "./errors.js";
import { METRICS, type MetricName } from "./metric-list.js";

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

/**
 * What a metric has now: one value, or one for the values of its labels, which are a text where it
 * has one label.
 */
export type MetricValues = number | Iterable<readonly [labels: string | readonly string[], value: number]>;

export class Metrics {
  readonly #process = new Registry();
  readonly #requests = new Family("portico_requests_total", "portico_request_duration_seconds");
  readonly #calls = new Family("portico_grpc_calls_total", "portico_grpc_call_duration_seconds");
  readonly #reads = new Map<MetricName, (() => MetricValues)[]>();
  /** By the ID of a limit of calls: the calls that it refused. */
  readonly #limitRefused = new Map<string, number>();
  readonly contentType = this.#process.contentType;

  constructor() {
    collectDefaultMetrics({ register: this.#process });
    // They are gauges with a suffix of counters; `sum(nodejs_active_resources)` and so on have the
    // same values.
    for (const kind of ["handles", "requests", "resources"]) {
      this.#process.removeSingleMetric(`nodejs_active_${kind}_total`);
    }
    this.add("portico_limit_refused_total", () => this.#limitRefused);
  }

  /**
   * Adds a metric, or further values to one that several parts have.
   * @param read is called whenever the metrics are asked for
   */
  add(name: MetricName, read: () => MetricValues): void {
    const reads = this.#reads.get(name);
    if (reads === undefined) this.#reads.set(name, [read]);
    else reads.push(read);
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
    const names = (Object.keys(METRICS) as MetricName[]).filter((name) => this.#reads.has(name));
    const read = names.flatMap((name) => [
      ...headOf(name),
      ...this.#reads.get(name)!.flatMap((read) => linesOf(name, read())),
    ]);
    return [...this.#requests.lines(), ...this.#calls.lines(), ...read, await this.#process.metrics()].join("\n");
  }
}

function headOf(name: MetricName): string[] {
  const { help, type } = METRICS[name];
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function linesOf(name: MetricName, values: MetricValues): string[] {
  if (typeof values === "number") return [`${name} ${values}`];
  const { labels } = METRICS[name];
  return Array.from(values, ([given, value]) => {
    const texts = typeof given === "string" ? [given] : given;
    return `${name}{${labels.map((label, at) => `${label}="${quoted(texts[at] ?? "")}"`).join()}} ${value}`;
  });
}

/** The value of a label, as it is written. */
function quoted(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}

/** The counts of one kind of call, by endpoint. */
class Family {
  readonly #total: MetricName;
  readonly #duration: MetricName;
  readonly #counted = new Map<string, Counted>();

  constructor(total: MetricName, duration: MetricName) {
    this.#total = total;
    this.#duration = duration;
  }

  count(endpoint: Endpoint | undefined, code: number | string, seconds: number): void {
    const counted = this.#counted.get(endpoint?.name ?? GATEWAY) ?? this.#add(endpoint);
    counted.byCode.set(code, (counted.byCode.get(code) ?? 0) + 1);
    counted.byBound[boundOf(seconds)]!++;
    counted.seconds += seconds;
  }

  lines(): string[] {
    const all = [...this.#counted.values()];
    if (all.length === 0) return [];
    return [
      ...headOf(this.#total),
      ...all.flatMap((counted) => this.#counts(counted)),
      ...headOf(this.#duration),
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
    return [...byCode].map(([code, count]) => `${this.#total}{${labels},code="${code}"} ${count}`);
  }

  #times({ service, endpoint, byBound, seconds }: Counted): string[] {
    const labels = `service="${service}",endpoint="${endpoint}"`;
    const name = this.#duration;
    let within = 0;
    const buckets = BOUNDS.map((bound, at) => {
      within += byBound[at]!;
      const le = bound === Infinity ? "+Inf" : bound;
      return `${name}_bucket{${labels},le="${le}"} ${within}`;
    });
    return [...buckets, `${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${within}`];
  }
}
