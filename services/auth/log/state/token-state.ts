/** What a token belongs to in the authority's state. */
import { DEFAULT_NAMESPACE } from "../../../../src/contract/names.js";
import type { Enrolment, Key, Login, Token, TrustToken } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { GrantToken } from "./oauth-table.js";
import type { SessionToken } from "./session-table.js";

/** What the callers of all tokens have where nothing else is said. */
export const EMPTY_CALLER = {
  namespace: DEFAULT_NAMESPACE,
  namespaceId: "",
  account: "",
  resources: [],
  reportUse: false,
  enrolment: "",
  from: [],
};

/** What a token belongs to. `spent` is a used refresh token. */
export type TokenState =
  | { readonly kind: "access" | "refresh" | "spent"; readonly login: Login; readonly token: Token }
  | { readonly kind: "key"; readonly key: Key }
  | { readonly kind: "enrolment"; readonly enrolment: Enrolment }
  | { readonly kind: "granted"; readonly granted: GrantToken }
  | ({ readonly kind: "session" } & SessionToken)
  | { readonly kind: "trusted"; readonly trusted: TrustToken };

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

/** What a key is limited to, as its caller has it. Only a limited key's name is in messages. */
export function limitsOf({ name, resources, from, callsOnly }: Key) {
  const isLimited = resources.length > 0 || from.length > 0;
  return { resources, from, callsOnly, key: isLimited ? name : undefined };
}
