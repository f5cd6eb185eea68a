/** The limits that apply to a caller, and what is left of them. */
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { overlap, parsePattern, type Resource } from "../../../src/contract/resource.js";
import { LOGGED_IN, PUBLIC } from "../../../src/contract/scope.js";
import { type LimitUse, Per } from "../../../src/gen/portico/auth/v1/limits.js";
import type { RevisedLimit } from "../../../src/limits/limit-set.js";
import { type LimitedCaller, subjectOf } from "../../../src/limits/subject.js";
import type { State } from "../log/state/state.js";
import type { LimitUses } from "./uses.js";

/** A caller whose limits are asked for. */
export interface AskedCaller extends LimitedCaller {
  /** Undefined for a caller without a token. */
  readonly scopes: readonly string[] | undefined;
}

const NOTHING_KNOWN = { rate: undefined, quota: undefined, concurrent: undefined };

/**
 * The limits that can count a call of the caller, by ID, with what is left of them. Limits for each
 * address are among them even if the caller's address is not known.
 * @param pattern what is called
 */
export async function limitsFor(
  { state, uses }: { state: State; uses: LimitUses },
  caller: AskedCaller,
  pattern: Resource,
): Promise<LimitUse[]> {
  const own = state.limits.of(caller.namespace).map((revised) => ({ namespace: caller.namespace, revised }));
  const isTenant = caller.namespace !== DEFAULT_NAMESPACE;
  const shared = (isTenant ? state.limits.of(DEFAULT_NAMESPACE) : [])
    .filter(({ limit }) => limit.per === Per.NAMESPACE)
    .map((revised) => ({ namespace: DEFAULT_NAMESPACE, revised }));
  const scopes = new Set(caller.scopes === undefined ? [PUBLIC] : [PUBLIC, LOGGED_IN, ...caller.scopes]);
  const found = [...own, ...shared].filter(
    ({ revised: { limit } }) => scopes.has(limit.scope) && overlap(parsePattern(limit.resource), pattern),
  );
  found.sort((a, b) => (a.revised.limit.id < b.revised.limit.id ? -1 : 1));
  const applying = found.map(({ namespace, revised }) => useOf(uses, namespace, revised, caller));
  return (await Promise.all(applying)).filter((use) => use !== undefined);
}

async function useOf(
  uses: LimitUses,
  namespace: string,
  revised: RevisedLimit,
  caller: AskedCaller,
): Promise<LimitUse | undefined> {
  const { limit } = revised;
  const subject = subjectOf(limit, caller);
  if (subject === undefined && limit.per !== Per.ADDRESS) return undefined;
  const left = subject === undefined ? NOTHING_KNOWN : await uses.left(namespace, revised, subject);
  return {
    limit,
    subject: subject ?? "",
    rateLeft: amount(left.rate),
    quotaLeft: amount(left.quota),
    concurrentLeft: amount(left.concurrent),
  };
}

function amount(left: number | undefined): bigint | undefined {
  return left === undefined ? undefined : BigInt(left);
}
