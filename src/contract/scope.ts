/** The scopes of callers, as rules and limits of calls name them. */
import { printable } from "./resource.js";

/** The scope for everyone, with or without a token. */
export const PUBLIC = "<public>";
/** The scope for any logged-in caller. */
export const LOGGED_IN = "*";

const MAX_SCOPE_LENGTH = 128;

/**
 * Checks the name of a scope that an account may have. `<`, `>` and `*` are refused, so that a
 * typing error such as `<Public>` or `team-*` is reported and does not become a rule that never
 * matches.
 * @throws {SyntaxError} with a message for the author of the rule or limit
 */
export function checkScope(scope: string): string {
  if (scope === "") throw new SyntaxError(`scope is missing: ${PUBLIC}, * or the name of a scope`);
  if (scope.length > MAX_SCOPE_LENGTH) throw new SyntaxError(`scope is longer than ${MAX_SCOPE_LENGTH} characters`);
  if (/[\p{C}\p{Zl}\p{Zp}<>*]|^\s|\s$/u.test(scope)) {
    throw new SyntaxError(
      `scope "${printable(scope)}" must be ${PUBLIC}, * or a name without < > *, control characters, or spaces around it`,
    );
  }
  return scope;
}
