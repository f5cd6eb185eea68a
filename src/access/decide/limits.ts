/**
 * The limits of API keys. A key may be limited to resources. It then calls nothing else, even if
 * the rules grant it to its account. All code that decides a call applies `withinLimits` to the
 * decision of the rules: guards, the authority when a service asks to act for a caller, and
 * explanations.
 */

import type { AuthorizationResult, Decision } from "../../call/admission.js";
import type { Caller } from "../../call/caller.js";
import { matches, parsePattern, type Resource } from "../../contract/resource.js";
import { KnownCaller } from "../callers/known-caller.js";

type Limited = Pick<Caller, "resources">;

/**
 * The decision of the rules, or `limited` if they grant a resource that the caller's key may not
 * call.
 */
export function withinLimits(decision: Decision, resource: Resource, caller: Limited | undefined): AuthorizationResult {
  return decision === "granted" && caller !== undefined && isOutsideLimits(caller, resource) ? "limited" : decision;
}

function isOutsideLimits(caller: Limited, resource: Resource): boolean {
  if (caller.resources.length === 0) return false;
  const limits = caller instanceof KnownCaller ? caller.limits : caller.resources.map(parsePattern);
  return !limits.some((limit) => matches(limit, resource));
}
