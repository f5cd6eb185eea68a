/**
 * The parts of administration, and the scopes that give them. Each endpoint for administrators
 * declares the part that it needs (portico/options/v1/options.proto). Every code that asks whether
 * a caller administers something asks `administers`.
 */
import { AdminPart } from "../gen/portico/options/v1/options.js";
import { ADMIN_SCOPE } from "./names.js";

export { AdminPart };

/** The scope of each part; only the scope `admin` gives what is not listed. */
const SCOPES: ReadonlyMap<AdminPart, string> = new Map([
  [AdminPart.RULES, "admin:rules"],
  [AdminPart.ACCOUNTS, "admin:accounts"],
  [AdminPart.KEYS, "admin:keys"],
  [AdminPart.AUDIT, "admin:audit"],
]);

/** Those scopes, in the order in which messages name them. */
export const PART_SCOPES: readonly string[] = [...SCOPES.values()];

/** What decides what a caller or an account administers. */
export interface Administrator {
  readonly scopes: readonly string[];
  /** Whether it calls with an API key that administers nothing. */
  readonly callsOnly?: boolean | undefined;
}

/**
 * Whether a caller administers a part of its namespace, by its scope or by the scope `admin`.
 * Without a part: whether it administers everything.
 */
export function administers({ scopes, callsOnly }: Administrator, part = AdminPart.WHOLE): boolean {
  if (callsOnly === true || scopes.length === 0) return false;
  if (scopes.includes(ADMIN_SCOPE)) return true;
  const scope = SCOPES.get(part);
  return scope !== undefined && scopes.includes(scope);
}

/**
 * Whether a scope administers. All that begin with `admin:` count, so that a later version can add
 * parts: nobody but an administrator has given them.
 */
export function isAdminScope(scope: string): boolean {
  return scope === ADMIN_SCOPE || scope.startsWith(`${ADMIN_SCOPE}:`);
}

/** The scopes with which a part is administered, in words: `admin or admin:rules`. */
export function scopesInWords(part = AdminPart.WHOLE): string {
  const scope = SCOPES.get(part);
  return scope === undefined ? ADMIN_SCOPE : `${ADMIN_SCOPE} or ${scope}`;
}
