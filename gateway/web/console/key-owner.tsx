/** Step 1 of a new key: the account that calls with it. */
import type { Account } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { administers, isAdmin, type Session } from "../session/session.js";
import { SelectField, TextField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { MoreNotice } from "./page-frame.js";

/** Chosen instead of the name of an account; no account has this name. */
export const NEW = "<new>";
const MAX_NAME = 128;

interface NewAccount {
  readonly name: string;
  /** Separated by commas. */
  readonly scopes: string;
}

/** Creates an account without a password. @throws {ApiError} */
export async function createAccount({ name, scopes }: NewAccount): Promise<void> {
  const held = scopes.split(",").map((scope) => scope.trim());
  await call("auth/Accounts/Create", {
    ...{ name, password: "", withoutPassword: true },
    scopes: held.filter((scope) => scope !== ""),
  });
  announce(`Account ${name} is created`);
}

interface OwnerProps {
  readonly session: Session;
  readonly account: string;
  readonly added: NewAccount;
  readonly accounts: readonly Account[];
  readonly onAccount: (account: string) => void;
  readonly onAdded: (added: NewAccount) => void;
}

/** Who has the scope `admin` gives keys with scopes of administration that it does not hold. */
function mayGive(session: Session, scope: string): boolean {
  return session.scopes.includes(scope) || (isAdmin(session) && scope.startsWith("admin:"));
}

export function Owner({ session, account, added, accounts, onAccount, onAdded }: OwnerProps) {
  if (!administers(session, "keys")) return <p>For you, {session.account}. The key calls as your account.</p>;
  const others = accounts.filter(({ name }) => name !== session.account);
  const own = others.filter(({ scopes }) => scopes.every((scope) => mayGive(session, scope)));
  const names = own.map(({ name }) => name);
  // It stays chosen after another administrator has deleted it.
  const isGone = account !== NEW && account !== session.account && !names.includes(account);
  const options: [value: string, title: string][] = [
    [session.account, `Me, ${session.account}`],
    ...[...names, ...(isGone ? [account] : [])].map((name): [string, string] => [name, name]),
    ...(administers(session, "accounts") ? [[NEW, "A new account, without a password"] as [string, string]] : []),
  ];
  const more = others.length - own.length;
  const hint = `Not listed: ${more} with scopes that you lack. Who holds those scopes can make keys for them.`;
  return (
    <>
      <SelectField
        label="The key calls as"
        options={options}
        value={account}
        onInput={onAccount}
        hint={more > 0 ? hint : undefined}
      />
      <MoreNotice listed={accounts.length} what="accounts" />
      {account === NEW && <NewAccountFields added={added} onAdded={onAdded} />}
    </>
  );
}

function NewAccountFields({ added, onAdded }: Pick<OwnerProps, "added" | "onAdded">) {
  const { length } = added.name;
  return (
    <>
      <TextField
        label="Account name"
        hint="Letters, digits and . _ @ + -, such as partner-acme. It cannot sign in; it calls with keys."
        error={length > MAX_NAME ? `A name has at most ${MAX_NAME} characters; this one has ${length}.` : undefined}
        required
        value={added.name}
        onInput={(name) => onAdded({ ...added, name })}
      />
      <TextField
        label="Scopes"
        hint="Separated by commas. Rules grant calls to scopes. May be empty."
        value={added.scopes}
        onInput={(scopes) => onAdded({ ...added, scopes })}
      />
    </>
  );
}
