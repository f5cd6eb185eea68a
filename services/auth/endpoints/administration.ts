/**
 * What administrators of a part may not do, because it would give them more than their part:
 * `admin:accounts` does not touch what administers, and nobody gives a key more than he has.
 */
import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { AdminPart, administers, isAdminScope, PART_SCOPES } from "../../../src/contract/admin-parts.js";
import { isScopeOn, scopeOn } from "../../../src/contract/admin-resources.js";
import { ADMIN_SCOPE } from "../../../src/contract/names.js";
import { isAgentScope } from "../../../src/contract/scope.js";
import { invalidArgument, permissionDenied } from "../../../src/errors.js";
import type { Issuer } from "../../../src/gen/portico/auth/v1/issuers.js";

interface Named {
  readonly name: string;
  readonly scopes: readonly string[];
}

/**
 * Only the scope `admin` changes an account that administers.
 * @throws {StatusError} PERMISSION_DENIED
 */
export function checkMayChange(caller: KnownCaller, { name, scopes }: Named): void {
  const scope = scopes.find(isAdminScope);
  if (scope === undefined || administers(caller)) return;
  throw permissionDenied(
    `name: ${name} holds the scope ${scope}; only an account with the scope ${ADMIN_SCOPE} may do this`,
  );
}

/**
 * Only the scope `admin` links an account to a person whose groups may give it administration, or
 * sets the password of one that is linked: who knows the password would administer from the
 * person's next sign-in on.
 * @throws {StatusError} PERMISSION_DENIED
 */
export function checkGroups(caller: KnownCaller, { name, signIn }: Pick<Issuer, "name" | "signIn">): void {
  const scope = signIn?.map.map((given) => given.scope).find(isAdminScope);
  if (scope === undefined || administers(caller)) return;
  throw permissionDenied(
    `groups of the issuer ${name} give the scope ${scope}; only an account with the scope ${ADMIN_SCOPE} may do this`,
  );
}

/**
 * Only the scope `admin` gives a scope of administration. Nobody gives a scope of an agent.
 * @param held the scopes that the account holds already
 * @throws {StatusError} PERMISSION_DENIED; INVALID_ARGUMENT for a part that does not exist
 */
export function checkMayGive(caller: KnownCaller, scopes: readonly string[], held: readonly string[] = []): void {
  for (const scope of scopes) {
    if (isAgentScope(scope) && !held.includes(scope)) {
      throw invalidArgument(
        `scopes: ${scope} is the scope of an agent, which has it where it calls for a person; no account can have it`,
      );
    }
    if (!isAdminScope(scope)) continue;
    if (!administers(caller)) {
      throw permissionDenied(`scopes: only an account with the scope ${ADMIN_SCOPE} may give the scope ${scope}`);
    }
    // One that is held already stays: another version may know it.
    if (isKnownAdminScope(scope) || held.includes(scope)) continue;
    const known = [ADMIN_SCOPE, ...PART_SCOPES, scopeOn("<pattern>")].join(", ");
    throw invalidArgument(`scopes: ${scope} gives no part of administration; those that do are ${known}`);
  }
}

/** Whether a scope of administration gives something in this version; its pattern was checked. */
export function isKnownAdminScope(scope: string): boolean {
  return scope === ADMIN_SCOPE || PART_SCOPES.includes(scope) || isScopeOn(scope);
}

/** Whether a caller may set the password of an account without the current one. */
export function mayReset(caller: KnownCaller, name: string): boolean {
  return administers(caller) || (name !== caller.account && administers(caller, AdminPart.ACCOUNTS));
}
