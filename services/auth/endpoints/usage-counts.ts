/** Counts of calls by endpoint and by caller, which can be added. */
import type { Calls, Tallies, Tally } from "../../../src/gen/portico/auth/v1/usage.js";
import { BOUNDS, COUNTED_STATUSES } from "../../../src/metrics.js";

type Numbers = Pick<Count, "clientErrors" | "serverErrors" | "byTime" | "byStatus">;

/**
 * The endpoint or the caller whose calls are counted; with empty names, the rest of its namespace.
 */
type Counted = Pick<Tally, "namespace" | "service" | "endpoint" | "account" | "key">;

/** The counts of a set of calls. */
export class Count {
  clientErrors = 0;
  serverErrors = 0;
  /**
   * Number of calls by duration. For each of BOUNDS: the calls that took at most this time, and
   * longer than the bound before it.
   */
  readonly byTime: number[] = BOUNDS.map(() => 0);
  /** Number of client errors by status. For each of COUNTED_STATUSES. */
  readonly byStatus: number[] = COUNTED_STATUSES.map(() => 0);

  get total(): number {
    return this.byTime.reduce((sum, calls) => sum + calls, 0);
  }

  add({ clientErrors, serverErrors, byTime, byStatus }: Numbers): void {
    this.clientErrors += clientErrors;
    this.serverErrors += serverErrors;
    for (const [index, calls] of byTime.entries()) this.byTime[index]! += calls;
    for (const [index, calls] of byStatus.entries()) this.byStatus[index]! += calls;
  }

  toCalls(): Calls {
    const { total, clientErrors, serverErrors } = this;
    const [badRequest, unauthorized, forbidden, notFound, tooManyRequests] = this.byStatus.map(BigInt);
    const known = this.byStatus.reduce((sum, calls) => sum + calls, 0);
    return {
      total: BigInt(total),
      ok: BigInt(Math.max(total - clientErrors - serverErrors, 0)),
      badRequest: badRequest!,
      unauthorized: unauthorized!,
      forbidden: forbidden!,
      notFound: notFound!,
      tooManyRequests: tooManyRequests!,
      otherClientErrors: BigInt(Math.max(clientErrors - known, 0)),
      clientErrors: BigInt(clientErrors),
      serverErrors: BigInt(serverErrors),
      medianMs: this.#quantile(0.5),
      p95Ms: this.#quantile(0.95),
    };
  }

  /**
   * The time within which this share of the calls ended, in milliseconds, by linear interpolation
   * like Prometheus's histogram_quantile().
   */
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

/**
 * Counts by endpoint or by caller. Above the maximum number of them, others are counted per
 * namespace.
 */
export class Counts {
  readonly #bound: number;
  readonly #counts = new Map<string, Counted & { readonly count: Count }>();

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#counts.size;
  }

  add(one: Counted, count: Numbers): void {
    const known = this.#counts.get(keyOf(one));
    if (known === undefined && this.#counts.size >= this.#bound && (one.service !== "" || one.account !== "")) {
      this.add({ namespace: one.namespace, service: "", endpoint: "", account: "", key: "" }, count);
      return;
    }
    const { namespace, service, endpoint, account, key } = one;
    const counted = known ?? { namespace, service, endpoint, account, key, count: new Count() };
    if (known === undefined) this.#counts.set(keyOf(one), counted);
    counted.count.add(count);
  }

  addTallies(tallies: readonly Tally[]): void {
    for (const tally of tallies) this.add(tally, numbersOf(tally));
  }

  /** The most calls first. */
  list(): (Counted & { readonly count: Count })[] {
    return [...this.#counts.values()].sort((a, b) => b.count.total - a.count.total);
  }

  toTallies(): Tally[] {
    return this.list().map(({ count, ...one }) => ({
      ...one,
      clientErrors: BigInt(count.clientErrors),
      serverErrors: BigInt(count.serverErrors),
      byTime: count.byTime.map(BigInt),
      byStatus: count.byStatus.map(BigInt),
    }));
  }
}

/** A space separates them, because no name has one. */
function keyOf({ namespace, service, endpoint, account, key }: Counted): string {
  return `${namespace} ${service} ${endpoint} ${account} ${key}`;
}

/** The numbers of a tally. */
export function numbersOf({ clientErrors, serverErrors, byTime, byStatus }: Tally): Numbers {
  return {
    clientErrors: Number(clientErrors),
    serverErrors: Number(serverErrors),
    byTime: byTime.map(Number),
    byStatus: byStatus.map(Number),
  };
}

/** Calls by endpoint, and the same by caller. */
export class CallCounts {
  readonly #endpoints: Counts;
  readonly #callers: Counts;

  /** @param bound the maximum number of endpoints, and of callers */
  constructor(bound = Number.POSITIVE_INFINITY) {
    this.#endpoints = new Counts(bound);
    this.#callers = new Counts(bound);
  }

  add({ tallies, callers }: Tallies): void {
    this.#endpoints.addTallies(tallies);
    this.#callers.addTallies(callers);
  }

  /** The most calls first. */
  toTallies(): Tallies {
    return { tallies: this.#endpoints.toTallies(), callers: this.#callers.toTallies() };
  }
}
