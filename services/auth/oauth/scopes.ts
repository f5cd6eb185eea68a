/**
 * OAuth scopes are resource patterns, such as `service:orders:*`. A grant for `/mcp` alone has them
 * with the type `mcp` instead of `service`, which a guard takes at `/mcp` only
 * (src/access/decide/limits.ts).
 */
import { MCP_TYPE } from "../../../src/access/decide/limits.js";
import { isOfServices, parsePattern } from "../../../src/contract/resource.js";

/** Maximum number of scopes of a grant. */
export const MAX_SCOPES = 100;
/** The resource of tokens that count at `/mcp` only; others have none. */
export const MCP_RESOURCE = "/mcp";

/**
 * Whether all texts are patterns that can be granted for a resource, and not too many. For `/mcp`
 * each must match services: of another type, it would get theirs (`resourcesOf`).
 */
export function areScopes(scopes: readonly string[], resource: string): boolean {
  const isFor = resource === MCP_RESOURCE ? isOfServices : () => true;
  return scopes.length <= MAX_SCOPES && scopes.every((scope) => isScope(scope) && isFor(scope));
}

function isScope(text: string): boolean {
  try {
    parsePattern(text);
    return true;
  } catch {
    return false;
  }
}

/** The resources that tokens are limited to, from scopes and a resource. */
export function resourcesOf(scopes: readonly string[], resource: string): string[] {
  if (resource !== MCP_RESOURCE) return [...scopes];
  const all = scopes.length === 0 ? ["service:*:*"] : scopes;
  return all.map((scope) => scope.replace(/^[^:]*/, MCP_TYPE));
}

export function isMcpOnly(resources: readonly string[]): boolean {
  return resources.length > 0 && resources.every((pattern) => pattern.startsWith(`${MCP_TYPE}:`));
}

/** The scopes as clients know them. */
export function scopesOf(resources: readonly string[]): string[] {
  return resources.map((pattern) => pattern.replace(new RegExp(`^${MCP_TYPE}:`), "service:"));
}
