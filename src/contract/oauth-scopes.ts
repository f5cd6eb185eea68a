/** OAuth scopes, which are resource patterns, such as `service:orders:*`. */
import { isOfServices, parsePattern } from "./resource.js";

/** Maximum number of scopes of a request or a grant. */
const MAX_SCOPES = 100;

/** The resource of tokens that count at `/mcp` only; others have none. */
export const MCP_RESOURCE = "/mcp";

/**
 * Whether all texts are patterns that can be granted for a resource, and not too many. For `/mcp`
 * each must match services: one of another type would get theirs.
 */
export function areScopes(scopes: readonly string[], resource: string): boolean {
  const isFor = resource === MCP_RESOURCE ? isOfServices : () => true;
  return scopes.length <= MAX_SCOPES && scopes.every((scope) => isPattern(scope) && isFor(scope));
}

function isPattern(text: string): boolean {
  try {
    parsePattern(text);
    return true;
  } catch {
    return false;
  }
}
