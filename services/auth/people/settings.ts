/** How people sign in by an issuer: what an administrator may set. */
import { isAdminScope } from "../../../src/contract/admin-parts.js";
import { checkHeldScope } from "../../../src/contract/admin-resources.js";
import { DEFAULT_NAMESPACE, qualifiedName } from "../../../src/contract/names.js";
import { invalidArgument } from "../../../src/errors.js";
import type { VouchingIssuer } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { IssuerSignIn } from "../../../src/gen/portico/auth/v1/issuers.js";
import { isKnownAdminScope } from "../endpoints/administration.js";
import type { State } from "../log/state/state.js";

export const EMAIL = "email";
const MAX_GROUPS = 100;
const MAX_TEXT = 500;
/** Claims that are no name of a person. */
const NO_NAMES = [
  "iss",
  "aud",
  "exp",
  "iat",
  "nbf",
  "nonce",
  "azp",
  "acr",
  "amr",
  "auth_time",
  "at_hash",
  "email_verified",
];

/** An issuer by which people sign in. */
export interface SignInIssuer extends VouchingIssuer {
  readonly signIn: IssuerSignIn;
}

/** The issuer with an ID; undefined if nobody signs in by it. */
export function signInIssuer({ trusts }: State, id: string): SignInIssuer | undefined {
  const dot = id.indexOf(".");
  const issuer = dot < 0 ? trusts.issuer(DEFAULT_NAMESPACE, id) : trusts.issuer(id.slice(0, dot), id.slice(dot + 1));
  return issuer !== undefined && isSignIn(issuer) && qualifiedName(issuer) === id ? issuer : undefined;
}

export function isSignIn(issuer: VouchingIssuer): issuer is SignInIssuer {
  return issuer.signIn !== undefined;
}

/** Where the issuer sends people back to, below the public URL. */
export function callbackPathOf(issuer: Pick<VouchingIssuer, "namespace" | "name">): string {
  return `/oauth/callback/${qualifiedName(issuer)}`;
}

/**
 * The settings as they are stored.
 * @throws {StatusError} INVALID_ARGUMENT naming the field
 */
export function checkedSignIn(signIn: IssuerSignIn): IssuerSignIn {
  const { clientId, trustClaim, map, mayAdminister } = signIn;
  const [accountClaim, groupsClaim] = [signIn.accountClaim || EMAIL, signIn.groupsClaim || "groups"];
  for (const [field, text] of Object.entries({
    client_id: clientId,
    account_claim: accountClaim,
    groups_claim: groupsClaim,
  })) {
    if (!/^[\x21-\x7e]+$/.test(text) || text.length > MAX_TEXT) {
      throw invalidArgument(`sign_in.${field}: must have 1 to ${MAX_TEXT} characters of ASCII, without spaces`);
    }
  }
  if (NO_NAMES.includes(accountClaim)) throw invalidArgument(`sign_in.account_claim: ${accountClaim} names nobody`);
  if (accountClaim !== EMAIL && !trustClaim) {
    throw invalidArgument(
      `sign_in.account_claim: whoever can set the claim ${accountClaim} at the issuer can take any name; set trust_claim ` +
        "if only administrators there can",
    );
  }
  if (map.length > MAX_GROUPS) throw invalidArgument(`sign_in.map: must be at most ${MAX_GROUPS}`);
  for (const [index, { group, scope }] of map.entries()) {
    const problem = mapProblem(group, scope, mayAdminister);
    if (problem !== undefined) throw invalidArgument(`sign_in.map[${index}]: ${problem}`);
  }
  return { ...signIn, accountClaim, groupsClaim };
}

function mapProblem(group: string, scope: string, mayAdminister: boolean): string | undefined {
  if (group === "" || group.length > MAX_TEXT) return `the group must have 1 to ${MAX_TEXT} characters`;
  try {
    checkHeldScope(scope);
  } catch (error) {
    return (error as Error).message;
  }
  if (!/^(?:admin|service:|agent:)/.test(scope)) return undefined;
  if (!mayAdminister) {
    return `the issuer may give no scope that begins with admin, service: or agent:, such as ${scope}, unless may_administer is set`;
  }
  const isKnown = !isAdminScope(scope) || isKnownAdminScope(scope);
  return isKnown ? undefined : `${scope} gives no part of administration`;
}
