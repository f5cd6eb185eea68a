/** The pools of this process: one for each budget of each limit and subject that was called. */
import { networkOf } from "../address/client-address.js";
import type { Admission } from "../call/admission.js";
import type { CountedCall } from "../call/limited-call.js";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { Code, StatusError, withoutStack } from "../errors.js";
import { Budget } from "../gen/portico/auth/v1/lending.js";
import type { Limit } from "../gen/portico/auth/v1/limits.js";
import { budgetKey, lenderOf, limitKey } from "./lenders.js";
import type { LimitSet, RevisedLimit } from "./limit-set.js";
import { Pool } from "./pool.js";
import { type LimitedCaller, subjectOf } from "./subject.js";

/** Where the limits come from: the policy that the guard follows. */
export interface LimitPolicy {
  /** The limits of a namespace; undefined if it has none. */
  limitsOf(namespace: string): LimitSet | undefined;
  /** The limits of `default` that apply to the calls of each namespace; undefined for none. */
  readonly tenantLimits: LimitSet | undefined;
  readonly lenders: { readonly ids: readonly string[]; readonly revision: bigint };
}

/** The pools of one limit, by subject. */
interface Group {
  revised: RevisedLimit;
  readonly name: string;
  readonly namespace: string;
  readonly subjects: Map<string, readonly Pool[]>;
}

/** Most subjects that are remembered. */
const MAX_SUBJECTS = 1_000_000;
const NONE: readonly Pool[] = [];

export class Pools {
  /** By the limit as it is now. */
  readonly #groups = new Map<RevisedLimit, Group>();
  /** By namespace and ID. */
  readonly #named = new Map<string, Group>();
  #subjects = 0;

  /**
   * The pools that count a call; undefined if there are none.
   * @throws {StatusError} UNAVAILABLE if there are too many subjects
   */
  of(policy: LimitPolicy, admission: Admission, call: CountedCall): readonly Pool[] | undefined {
    const { namespace, endpoint } = admission;
    // Portico's own endpoints, whose callers are declared, are exempt, as they are from rules.
    if (endpoint.callers !== undefined) return undefined;
    const own = policy.limitsOf(namespace);
    const tenant = namespace === DEFAULT_NAMESPACE ? undefined : policy.tenantLimits;
    if (own === undefined && tenant === undefined) return undefined;
    // The guard that made the assertion has counted the call of its caller.
    if (call.asserted && !isOwnCall(admission)) return undefined;
    const inOwn = own === undefined ? NONE : this.#find(policy, own, namespace, admission, call);
    const inTenant = tenant === undefined ? NONE : this.#find(policy, tenant, DEFAULT_NAMESPACE, admission, call);
    const found = inTenant.length === 0 ? inOwn : [...inOwn, ...inTenant];
    return found.length === 0 ? undefined : found;
  }

  *[Symbol.iterator](): Generator<Pool> {
    for (const { subjects } of this.#named.values()) for (const pools of subjects.values()) yield* pools;
  }

  get size(): number {
    return this.#subjects;
  }

  /** Forgets the pools without which nothing is lost. */
  forget(now: number): void {
    for (const [name, group] of this.#named) {
      for (const [subject, pools] of group.subjects) {
        if (!pools.every((pool) => pool.isForgettable(now))) continue;
        for (const pool of pools) pool.close();
        group.subjects.delete(subject);
        this.#subjects--;
      }
      if (group.subjects.size > 0) continue;
      this.#named.delete(name);
      this.#groups.delete(group.revised);
    }
  }

  #find(
    policy: LimitPolicy,
    limits: LimitSet,
    namespace: string,
    { endpoint, caller, namespace: ofCall }: Admission,
    { address }: CountedCall,
  ): readonly Pool[] {
    const isAccount = caller !== undefined && caller.enrolment === undefined;
    const matching = limits.matching(endpoint.segments, caller?.scopes, isAccount);
    if (matching.length === 0) return NONE;
    const limited: LimitedCaller = {
      namespace: ofCall,
      account: caller?.account ?? "",
      key: caller?.keyPrefix ?? "",
      // Computed only for limits that count by address.
      get network() {
        return networkOf(address);
      },
    };
    let found = NONE;
    for (const revised of matching) {
      const subject = subjectOf(revised.limit, limited);
      if (subject === undefined) continue;
      const pools = this.#poolsOf(policy, revised, namespace, subject);
      found = found.length === 0 ? pools : [...found, ...pools];
    }
    return found;
  }

  #poolsOf(policy: LimitPolicy, revised: RevisedLimit, namespace: string, subject: string): readonly Pool[] {
    const group = this.#groups.get(revised) ?? this.#adopt(policy, revised, namespace);
    const found = group.subjects.get(subject);
    if (found !== undefined) return found;
    if (this.#subjects >= MAX_SUBJECTS) {
      const message = `There are too many different callers to count for the limit ${revised.limit.id}; try again`;
      throw withoutStack(() => new StatusError(Code.UNAVAILABLE, message));
    }
    const pools = poolsOf(policy, revised, namespace, subject, NONE);
    group.subjects.set(subject, pools);
    this.#subjects++;
    return pools;
  }

  /** The limit is new or was changed. Its pools are kept, because calls may hold slots of them. */
  #adopt(policy: LimitPolicy, revised: RevisedLimit, namespace: string): Group {
    const name = limitKey(namespace, revised.limit.id);
    const present = this.#named.get(name);
    const group = present ?? { revised, name, namespace, subjects: new Map<string, readonly Pool[]>() };
    const samePer = group.revised.limit.per === revised.limit.per;
    this.#groups.delete(group.revised);
    group.revised = revised;
    this.#groups.set(revised, group);
    this.#named.set(name, group);
    for (const [subject, pools] of group.subjects) {
      if (samePer) group.subjects.set(subject, poolsOf(policy, revised, namespace, subject, pools));
      else {
        group.subjects.delete(subject);
        this.#subjects--;
      }
    }
    return group;
  }
}

/** Whether a service calls for itself, not for a caller of its own. */
function isOwnCall({ caller, service }: Admission): boolean {
  return caller?.enrolment !== undefined && caller.enrolment === service;
}

/** A pool for each budget of the limit, those that there are already among them. */
function poolsOf(
  { lenders }: LimitPolicy,
  { limit, revision }: RevisedLimit,
  namespace: string,
  subject: string,
  present: readonly Pool[],
): readonly Pool[] {
  const lender = lenderOf(budgetKey(namespace, limit.id, subject), lenders.ids);
  return budgetsOf(limit).map((budget) => {
    const pool = present.find((one) => one.budget === budget);
    pool?.change(limit, revision);
    return pool ?? new Pool({ namespace, subject, budget }, { limit, revision }, lender, performance.now());
  });
}

function budgetsOf({ rate, quota, concurrent }: Limit): Budget[] {
  return [
    ...(rate === "" ? [] : [Budget.RATE]),
    ...(quota === "" ? [] : [Budget.QUOTA]),
    ...(concurrent === 0 ? [] : [Budget.CONCURRENT]),
  ];
}
