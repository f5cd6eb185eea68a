/** Counts of calls by endpoint, with the median and the 95th percentile of their durations. */
import type { Calls, Tally } from "../../../src/gen/portico/auth/v1/usage.js";
import { BOUNDS } from "../../../src/metrics.js";

/** The endpoint that calls are counted for; without names, the rest of its namespace. */
export type Endpoint = Pick<Tally, "namespace" | "service" | "endpoint">;

/** The counts of a set of calls. */
export class Count {
  clientErrors = 0;
  serverErrors = 0;
  /** By the lowest of BOUNDS that was kept. */
  readonly byTime: number[] = BOUNDS.map(() => 0);

  get total(): number {
    return this.byTime.reduce((sum, calls) => sum + calls, 0);
  }

  add({ clientErrors, serverErrors, byTime }: Pick<Count, "clientErrors" | "serverErrors" | "byTime">): void {
    this.clientErrors += clientErrors;
    this.serverErrors += serverErrors;
    for (const [index, calls] of byTime.entries()) this.byTime[index]! += calls;
  }

  toCalls(): Calls {
    return {
      total: BigInt(this.total),
      clientErrors: BigInt(this.clientErrors),
      serverErrors: BigInt(this.serverErrors),
      medianMs: this.#quantile(0.5),
      p95Ms: this.#quantile(0.95),
    };
  }

  /** Taken to lie evenly between two bounds, as Prometheus's histogram_quantile() does. In milliseconds. */
  #quantile(share: number): number {
    let left = share * this.total;
    if (left === 0) return 0;
    const at = this.byTime.findIndex((calls) => {
      left -= calls;
      return left <= 0;
    });
    const lower = BOUNDS[at - 1] ?? 0;
    const upper = Math.min(BOUNDS[at]!, BOUNDS.at(-2)!);
    const seconds = upper + (left / this.byTime[at]!) * (upper - lower);
    return Math.round(seconds * 1e5) / 100;
  }
}

/** Counts by endpoint. Where there are more endpoints than the bound, further ones are counted together for their namespace. */
export class Counts {
  readonly #bound: number;
  readonly #counts = new Map<string, Endpoint & { readonly count: Count }>();

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#counts.size;
  }

  add(endpoint: Endpoint, count: Parameters<Count["add"]>[0]): void {
    const known = this.#counts.get(keyOf(endpoint));
    if (known === undefined && this.#counts.size >= this.#bound && endpoint.service !== "") {
      this.add({ namespace: endpoint.namespace, service: "", endpoint: "" }, count);
      return;
    }
    const counted = known ?? { ...endpoint, count: new Count() };
    if (known === undefined) this.#counts.set(keyOf(endpoint), counted);
    counted.count.add(count);
  }

  addTallies(tallies: readonly Tally[]): void {
    for (const { namespace, service, endpoint, clientErrors, serverErrors, byTime } of tallies) {
      const count = {
        clientErrors: Number(clientErrors),
        serverErrors: Number(serverErrors),
        byTime: byTime.map(Number),
      };
      this.add({ namespace, service, endpoint }, count);
    }
  }

  /** Most called first. */
  list(): (Endpoint & { readonly count: Count })[] {
    return [...this.#counts.values()].sort((a, b) => b.count.total - a.count.total);
  }

  toTallies(): Tally[] {
    return this.list().map(({ namespace, service, endpoint, count }) => ({
      namespace,
      service,
      endpoint,
      clientErrors: BigInt(count.clientErrors),
      serverErrors: BigInt(count.serverErrors),
      byTime: count.byTime.map(BigInt),
    }));
  }
}

/** No name has a space. */
function keyOf({ namespace, service, endpoint }: Endpoint): string {
  return `${namespace} ${service} ${endpoint}`;
}
