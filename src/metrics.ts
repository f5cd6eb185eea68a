/**
 * Counts and times of requests, and the process's own figures, in the text format of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Labels are bounded: endpoints come from the catalog
 * under their canonical names, which need no quoting, and whatever reached none of them is `gateway`.
 *
 * Requests are counted in plain numbers here. prom-client, which tells of the process, looks labels up at each use: that
 * would cost a request as much as all the rest of its way through the gateway.
 */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Endpoint } from "./endpoint.js";

/** Upper bounds of request times, in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, Infinity];
const GATEWAY = "gateway";

interface Counted {
  readonly service: string;
  readonly endpoint: string;
  /** Requests by HTTP status. */
  readonly byStatus: Map<number, number>;
  /** Requests by the lowest bound they kept. */
  readonly byBound: number[];
  /** Of all of them. */
  seconds: number;
}

export class Metrics {
  readonly #process = new Registry();
  readonly #counted = new Map<string, Counted>();
  readonly contentType = this.#process.contentType;

  constructor() {
    collectDefaultMetrics({ register: this.#process });
  }

  /** A request was answered; without an endpoint, by the gateway itself. */
  request(endpoint: Endpoint | undefined, status: number, seconds: number): void {
    const counted = this.#counted.get(endpoint?.name ?? GATEWAY) ?? this.#add(endpoint);
    counted.byStatus.set(status, (counted.byStatus.get(status) ?? 0) + 1);
    let bound = 0;
    while (seconds > BOUNDS[bound]!) bound++;
    counted.byBound[bound]!++;
    counted.seconds += seconds;
  }

  /** Everything, in the text format. */
  async text(): Promise<string> {
    const all = [...this.#counted.values()];
    return [
      "# HELP portico_requests_total Requests answered, by HTTP status.",
      "# TYPE portico_requests_total counter",
      ...all.flatMap(counts),
      "# HELP portico_request_duration_seconds Time from a request's headers to its answer.",
      "# TYPE portico_request_duration_seconds histogram",
      ...all.flatMap(times),
      await this.#process.metrics(),
    ].join("\n");
  }

  #add(endpoint: Endpoint | undefined): Counted {
    const { service, name } = endpoint ?? { service: GATEWAY, name: GATEWAY };
    const counted = { service, endpoint: name, byStatus: new Map(), byBound: BOUNDS.map(() => 0), seconds: 0 };
    this.#counted.set(name, counted);
    return counted;
  }
}

function counts({ service, endpoint, byStatus }: Counted): string[] {
  const labels = `service="${service}",endpoint="${endpoint}"`;
  return [...byStatus].map(([status, count]) => `portico_requests_total{${labels},code="${status}"} ${count}`);
}

function times({ service, endpoint, byBound, seconds }: Counted): string[] {
  const labels = `service="${service}",endpoint="${endpoint}"`;
  let within = 0;
  const buckets = BOUNDS.map((bound, at) => {
    within += byBound[at]!;
    const le = bound === Infinity ? "+Inf" : bound;
    return `portico_request_duration_seconds_bucket{${labels},le="${le}"} ${within}`;
  });
  return [
    ...buckets,
    `portico_request_duration_seconds_sum{${labels}} ${seconds}`,
    `portico_request_duration_seconds_count{${labels}} ${within}`,
  ];
}
