/** An administrator says which account a person is. */
import { failedPrecondition, invalidArgument, notFound } from "../../../src/errors.js";
import type {
  LinkAccountRequest,
  LinkAccountResponse,
  UnlinkAccountRequest,
  UnlinkAccountResponse,
} from "../../../src/gen/portico/auth/v1/accounts.js";
import type { Context } from "../../../src/rpc/service.js";
import { checkGroups, checkMayChange } from "../endpoints/administration.js";
import { accountOf, authorOf } from "../endpoints/checks.js";
import type { Changes } from "../log/changelog/changes.js";
import { linked } from "./accounts.js";
import { MAX_SUBJECT } from "./openid.js";

/** Linking what is linked already changes nothing. */
export async function link(
  changes: Changes,
  { name, issuer, subject }: LinkAccountRequest,
  context: Context,
): Promise<LinkAccountResponse> {
  const caller = accountOf(context);
  const { namespace } = caller;
  if (subject === "" || subject.length > MAX_SUBJECT) {
    throw invalidArgument(`subject: must have 1 to ${MAX_SUBJECT} characters`);
  }
  await changes.issue(authorOf(context), (state) => {
    const account = state.account(namespace, name);
    if (account === undefined) throw notFound(`no account with the name ${name}`);
    // Who signs in by the issuer is then the account, with all its scopes.
    checkMayChange(caller, account);
    const { signIn } = state.trusts.issuer(namespace, issuer) ?? {};
    if (signIn === undefined) throw notFound(`no issuer with the name ${issuer} by which people sign in`);
    checkGroups(caller, { name: issuer, signIn });
    const present = state.people.link({ namespace, issuer, subject });
    if (present?.account === name) return [];
    if (present !== undefined) {
      throw failedPrecondition(`${issuer}:${subject} is the account ${present.account}; unlink it first`);
    }
    return [linked({ namespace, issuer, subject, account: name })];
  });
  return {};
}

/** When it returns, no gateway accepts what came of the links. */
export async function unlink(
  changes: Changes,
  { name, issuer }: UnlinkAccountRequest,
  context: Context,
): Promise<UnlinkAccountResponse> {
  const caller = accountOf(context);
  const { namespace } = caller;
  let people = 0;
  await changes.make(authorOf(context), (state) => {
    const account = state.account(namespace, name);
    if (account === undefined) throw notFound(`no account with the name ${name}`);
    checkMayChange(caller, account);
    const links = state.people.linksOf(namespace, name).filter((link) => issuer === "" || link.issuer === issuer);
    if (links.length === 0) throw notFound(`${name} is linked to no person${issuer === "" ? "" : ` of ${issuer}`}`);
    people = links.length;
    return links.map(({ issuer, subject }) => ({ $case: "personUnlinked", value: { namespace, issuer, subject } }));
  });
  return { people };
}
