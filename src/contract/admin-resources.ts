/**
 * Administration of some resources: the scope `admin:on:service:orders:*` gives rules, limits and
 * keys of what its pattern matches. Versions that do not know such a scope give nothing for it.
 */
import { SELF_GOVERNED } from "./names.js";
import { coversService, matches, parsePattern, type Resource } from "./resource.js";
import { checkScope, MAX_SCOPE_LENGTH } from "./scope.js";

const PREFIX = "admin:on:";
const MAX_PATTERN = MAX_SCOPE_LENGTH - PREFIX.length;

/** Rules from this priority on are not for administrators of some resources. */
export const RESERVED_PRIORITY = 1000;

/** The scope that gives administration of what a pattern matches. */
export function scopeOn(pattern: string): string {
  return PREFIX + pattern;
}

/** Whether a scope is meant to give administration of some resources. */
export function isScopeOn(scope: string): boolean {
  return scope.startsWith(PREFIX);
}

/** The pattern of such a scope, as it was written. */
export function patternOn(scope: string): string {
  return scope.slice(PREFIX.length);
}

/** A scope as people read it: `administers service:orders:*`, and each other one as it is. */
export function scopeInWords(scope: string): string {
  return isScopeOn(scope) ? `administers ${patternOn(scope)}` : scope;
}

/**
 * Reads a pattern for whose resources administration is given.
 * @throws {SyntaxError} with a message for who gives it
 */
export function parseAdministered(text: string): Resource {
  if (text.length > MAX_PATTERN) throw new SyntaxError(`resource is longer than ${MAX_PATTERN} characters`);
  const pattern = parsePattern(text);
  if (pattern.type !== "service") throw new SyntaxError(`resource "${text}" must begin with service:`);
  const own = [...SELF_GOVERNED].find((service) => coversService(text, service));
  if (own === undefined) return pattern;
  throw new SyntaxError(`resource "${text}" matches endpoints of ${own}, which rules do not govern; name the services`);
}

/**
 * Checks a scope that an account may hold.
 * @throws {SyntaxError} with a message for who gives it
 */
export function checkHeldScope(scope: string): void {
  if (isScopeOn(scope)) parseAdministered(patternOn(scope));
  else checkScope(scope);
}

interface Administrator {
  readonly scopes: readonly string[];
  /** As in Caller. */
  readonly callsOnly?: boolean | undefined;
}

/** The patterns of what a caller administers. A scope with another kind of pattern gives none. */
export function administeredBy({ scopes, callsOnly }: Administrator): Resource[] {
  if (callsOnly === true) return [];
  return scopes.filter(isScopeOn).flatMap((scope) => {
    try {
      return [parseAdministered(patternOn(scope))];
    } catch {
      return [];
    }
  });
}

/**
 * Whether one of the patterns matches all that another pattern, or a resource, matches: `*` at the
 * end of a segment is in no literal, so the texts are compared as if it were a letter.
 */
export function isWithin(patterns: readonly Resource[], other: Resource): boolean {
  return patterns.some((pattern) => matches(pattern, other));
}
