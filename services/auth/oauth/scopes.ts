/**
 * The resources of tokens, from the scopes of a grant. A grant for `/mcp` alone has them with the
 * type `mcp` instead of `service`, which a guard takes at `/mcp` only
 * (src/access/decide/limits.ts).
 */
import { MCP_TYPE } from "../../../src/access/decide/limits.js";
import { MCP_RESOURCE } from "../../../src/contract/oauth-scopes.js";

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

/** The scopes of a token as clients get them: one for everything, where it is not limited. */
export function tokenScopes(resources: readonly string[]): string[] {
  return resources.length === 0 ? ["*:*:*"] : scopesOf(resources);
}
