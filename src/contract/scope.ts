/** The scopes of callers, as rules and limits of calls name them. */
import { printable } from "./resource.js";

/** The scope for everyone, with or without a token. */
export const PUBLIC = "<public>";
/** The scope for any logged-in caller. */
export const LOGGED_IN = "*";

export const MAX_SCOPE_LENGTH = 128;
/** Begins the scope of an agent. No account may have such a scope. */
const AGENT = "agent:";

/**
 * The scope that calls of a grant have beside the account's: `agent:claude.ai` for a client
 * with a metadata document there, `agent:app` for the registered client `app`.
 * @param clientId a URL, or `<name>`, or `<namespace>.<name>`
 */
export function agentScopeOf(clientId: string): string {
  return AGENT + (isDocumentUrl(clientId) ? new URL(clientId).host : clientId.slice(clientId.lastIndexOf(".") + 1));
}

/** Whether the ID of a client is the URL of its metadata document. Other clients are registered. */
export function isDocumentUrl(clientId: string): boolean {
  return /^https?:\/\//.test(clientId);
}

export function isAgentScope(scope: string): boolean {
  return scope.startsWith(AGENT);
}

/**
 * Checks the name of a scope that an account may have. `<`, `>` and `*` are refused, so that a
 * typing error such as `<Public>` or `team-*` is reported and does not become a rule that never
 * matches.
 * @throws {SyntaxError} with a message for the author of the rule or limit
 */
export function checkScope(scope: string): string {
  if (scope === "") throw new SyntaxError(`scope is missing: ${PUBLIC}, * or the name of a scope`);
  if (isAgentScope(scope) && scope !== scope.toLowerCase()) {
    throw new SyntaxError(`scope "${printable(scope)}" must be in lower case, as hosts and clients are`);
  }
  if (scope.length > MAX_SCOPE_LENGTH) throw new SyntaxError(`scope is longer than ${MAX_SCOPE_LENGTH} characters`);
  if (/[\p{C}\p{Zl}\p{Zp}<>*]|^\s|\s$/u.test(scope)) {
    throw new SyntaxError(
      `scope "${printable(scope)}" must be ${PUBLIC}, * or a name without < > *, control characters, or spaces around it`,
    );
  }
  return scope;
}
