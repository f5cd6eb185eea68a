/** What a token belongs to in the authority's state. */
import type { Enrolment, Key, Login, Token } from "../../../../src/gen/portico/auth/log/v1/log.js";

/** What a token belongs to. `spent` is a used refresh token. */
export type TokenState =
  | { readonly kind: "access" | "refresh" | "spent"; readonly login: Login; readonly token: Token }
  | { readonly kind: "key"; readonly key: Key }
  | { readonly kind: "enrolment"; readonly enrolment: Enrolment };

/**
 * The kind of the token with the hash in a login; undefined if it is none of the login's tokens.
 */
export function tokenOf(login: Login, sha256: Buffer): TokenState | undefined {
  const isIt = (token: Token | undefined): token is Token => token?.sha256.equals(sha256) === true;
  if (isIt(login.refresh)) return { kind: "refresh", login, token: login.refresh };
  const access = login.access.find(isIt);
  if (access !== undefined) return { kind: "access", login, token: access };
  const spent = login.spent.find(isIt);
  return spent && { kind: "spent", login, token: spent };
}
