/** What a service asks of its caller, beyond what the guard has checked before. */
import { KnownCaller } from "../../../src/access/caller-cache.js";
import { Code, StatusError } from "../../../src/errors.js";
import type { Context } from "../../../src/rpc/service.js";

export const DEFAULT_NAMESPACE = "default";
export const ADMIN_SCOPE = "admin";
/** Most characters of the name of a namespace, service or enrolment … */
export const MAX_NAME = 63;
/** … and of an account. */
export const MAX_ACCOUNT_NAME = 128;

/** @throws {StatusError} UNAUTHENTICATED when no account calls. */
export function accountOf({ caller, endpoint }: Context): KnownCaller {
  if (caller instanceof KnownCaller && caller.enrolment === undefined) return caller;
  throw new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint}`);
}

/** @throws {StatusError} PERMISSION_DENIED unless an account of the namespace `default` calls. */
export function accountOfDefault(context: Context): KnownCaller {
  const caller = accountOf(context);
  if (caller.namespace === DEFAULT_NAMESPACE) return caller;
  throw new StatusError(
    Code.PERMISSION_DENIED,
    `Only administrators of the namespace ${DEFAULT_NAMESPACE} may do this`,
  );
}

export function isAdmin(caller: { readonly scopes: readonly string[] }): boolean {
  return caller.scopes.includes(ADMIN_SCOPE);
}

/** A name as namespaces, services and enrolments have. @throws {StatusError} INVALID_ARGUMENT naming the field. */
export function checkName(field: string, name: string): void {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) return;
  throw new StatusError(
    Code.INVALID_ARGUMENT,
    `${field}: must be 1 to 63 lower-case letters, digits or -, and start with a letter or digit`,
  );
}
