/**
 * Which account a person is. A person is bound to the issuer and its subject, never to a name: the
 * issuer may give a name, or an e-mail address, to another person later.
 */
import { ACCOUNT_NAME } from "../../../src/contract/names.js";
import { disabledDetail, MAX_ACCOUNTS } from "../endpoints/checks.js";
import type { LogEvent } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import type { Identity } from "./openid.js";
import { EMAIL, type SignInIssuer } from "./settings.js";

/** The account, and the events that make it the person's; or why there is none, in words. */
export type AccountOfPerson =
  | { readonly account: string; readonly events: readonly LogEvent[] }
  | { readonly refused: string };

export function accountOfPerson(state: State, issuer: SignInIssuer, identity: Identity): AccountOfPerson {
  const { namespace, name: vouching, signIn } = issuer;
  const { subject } = identity;
  const link = state.people.link({ namespace, issuer: vouching, subject });
  if (link !== undefined) {
    const present = state.account(namespace, link.account);
    if (present?.disabled) return { refused: disabledDetail(link.account) };
    return { account: link.account, events: [] };
  }
  const refer = `An administrator can give you an account${commandFor(vouching, subject)}`;
  const proposed = proposedName(signIn, identity);
  if ("refused" in proposed) return { refused: `${proposed.refused}. ${refer}` };
  const { name } = proposed;
  const taken = state.accounts(namespace).find((account) => account.name.toLowerCase() === name.toLowerCase());
  if (taken !== undefined) return { refused: `The name ${taken.name} belongs to another account. ${refer}` };
  if (!signIn.createAccounts)
    return { refused: `${vouching} knows you as ${name}, but you have no account here. ${refer}` };
  if (state.accounts(namespace).length >= MAX_ACCOUNTS) return { refused: "There are too many accounts" };
  return {
    account: name,
    events: [
      { $case: "accountCreated", value: { namespace, name, scopes: [], password: undefined } },
      linked({ namespace, issuer: vouching, subject, account: name }),
    ],
  };
}

/** What the administrator types; "" for a subject that a shell could take for more than a text. */
function commandFor(issuer: string, subject: string): string {
  if (!/^[\w@.|:+=/-]+$/.test(subject)) return "";
  return `: portico auth set account <name> --link='${issuer}:${subject}'`;
}

/** The event that makes an account the person's. */
export function linked(link: { namespace: string; issuer: string; subject: string; account: string }): LogEvent {
  const unset = { scopes: [], created: undefined, read: undefined, refreshToken: "", revision: 0n, reading: "" };
  return { $case: "personLinked", value: { link: { ...link, ...unset } } };
}

function proposedName({ accountClaim }: SignInIssuer["signIn"], { claims }: Identity) {
  const { [accountClaim]: name } = claims;
  if (typeof name !== "string" || name === "") return { refused: `The issuer says nothing about your ${accountClaim}` };
  // Without it, a person may have written the address of another into an account there.
  if (accountClaim === EMAIL && claims.email_verified !== true) {
    return { refused: "The issuer has not verified your e-mail address" };
  }
  if (!ACCOUNT_NAME.test(name))
    return { refused: `Your ${accountClaim} at the issuer cannot be the name of an account` };
  return { name };
}

/** The scopes that the person's groups give. */
export function scopesOfGroups({ groupsClaim, map }: SignInIssuer["signIn"], { claims }: Identity): string[] {
  const groups = new Set([claims[groupsClaim] ?? []].flat());
  return [...new Set(map.filter(({ group }) => groups.has(group)).map(({ scope }) => scope))];
}
