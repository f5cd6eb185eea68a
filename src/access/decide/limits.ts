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

/** The type of patterns that limit a token to tools at `/mcp`. */
export const MCP_TYPE = "mcp";

type Limited = Pick<Caller, "resources">;

/**
 * The decision of the rules, or `limited` if they grant a resource that the caller's key may not
 * call.
 * @param byMcp whether the call is a tool call at `/mcp`, or was one where it entered. Then limits
 *   of the type `mcp` count for services: a token that was granted for `/mcp` alone has such limits
 */
export function withinLimits(
  decision: Decision,
  resource: Resource,
  caller: Limited | undefined,
  byMcp = false,
): AuthorizationResult {
  return decision === "granted" && caller !== undefined && isOutsideLimits(caller, resource, byMcp)
    ? "limited"
    : decision;
}

function isOutsideLimits(caller: Limited, resource: Resource, byMcp: boolean): boolean {
  if (caller.resources.length === 0) return false;
  const limits = caller instanceof KnownCaller ? caller.limits : caller.resources.map(parsePattern);
  if (limits.some((limit) => matches(limit, resource))) return false;
  if (!byMcp || resource.type !== "service") return true;
  const tool: Resource = { type: MCP_TYPE, name: resource.name, endpoint: resource.endpoint };
  return !limits.some((limit) => limit.type === MCP_TYPE && matches(limit, tool));
}
