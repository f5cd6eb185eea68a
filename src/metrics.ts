/**
 * Counts and times of calls, for Prometheus. Labels are bounded: endpoints come from the catalog under their canonical
 * names, and whatever reached none of them is `gateway`.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Endpoint } from "./endpoint.js";

/** Seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: "portico_requests_total",
    help: "Requests answered, by service, endpoint and HTTP status.",
    labelNames: ["service", "endpoint", "code"] as const,
    registers: [this.#registry],
  });
  readonly #seconds = new Histogram({
    name: "portico_request_duration_seconds",
    help: "Time from a request's headers to its answer.",
    labelNames: ["service", "endpoint"] as const,
    buckets: BUCKETS,
    registers: [this.#registry],
  });

  constructor(options: { process?: boolean } = {}) {
    if (options.process ?? true) collectDefaultMetrics({ register: this.#registry });
  }

  /** A request was answered; without an endpoint, by the gateway itself. */
  request(endpoint: Endpoint | undefined, code: number, seconds: number): void {
    const labels = { service: endpoint?.service ?? "gateway", endpoint: endpoint?.name ?? "gateway" };
    this.#requests.inc({ ...labels, code });
    this.#seconds.observe(labels, seconds);
  }

  /** A number that is read when asked for. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Everything in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  readonly contentType = this.#registry.contentType;
}
