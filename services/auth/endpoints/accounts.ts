/**
 * Accounts: creates, lists, changes, disables and deletes accounts of the caller's namespace; sets
 * passwords.
 */

import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { checkHeldScope } from "../../../src/contract/admin-resources.js";
import { ACCOUNT_NAME, ADMIN_SCOPE } from "../../../src/contract/names.js";
import {
  aborted,
  alreadyExists,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
  type StatusError,
} from "../../../src/errors.js";
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type Account,
  Account as AccountMessage,
  AccountsService,
  type CreateAccountRequest,
  type SetDisabledRequest,
  type SetPasswordRequest,
  type SetScopesRequest,
} from "../../../src/gen/portico/auth/v1/accounts.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import type { Changes } from "../log/changelog/changes.js";
import type { AccountState } from "../log/state/namespace-state.js";
import type { State } from "../log/state/state.js";
import type { Attempts } from "../login/attempts.js";
import { checkPassword, type Passwords } from "../login/passwords.js";
import { link, unlink } from "../people/linking.js";
import { checkGroups, checkMayChange, checkMayGive, mayReset } from "./administration.js";
import { accountOf, authorOf, checkEach, MAX_ACCOUNTS, originOf } from "./checks.js";
import { type PageItems, pageOf } from "./page.js";

const MAX_SCOPES = 100;

interface Options {
  readonly changes: Changes;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
}

/** The gRPC service portico.auth.v1.Accounts. */
export function accounts(options: Options): ServicePart {
  const { changes } = options;
  return part(AccountsService, {
    list: async (request, context) => {
      await changes.sync();
      const { items, nextPageToken } = pageOf(request, listOf(changes.state, accountOf(context).namespace));
      return { accounts: items, nextPageToken };
    },
    create: (request, context) => create(options, request, context),
    delete: async ({ name }, context) => {
      const caller = accountOf(context);
      await changes.make(authorOf(context), (state) => {
        checkMayChange(caller, find(state, caller.namespace, name));
        keepAnAdmin(state, caller.namespace, name);
        return [{ $case: "accountDeleted", value: { namespace: caller.namespace, name } }];
      });
      return {};
    },
    setScopes: (request, context) => setScopes(changes, request, context),
    setDisabled: (request, context) => setDisabled(changes, request, context),
    link: (request, context) => link(changes, request, context),
    unlink: (request, context) => unlink(changes, request, context),
    setPassword: async (request, context) => {
      await setPassword(options, request, context);
      return {};
    },
  });
}

async function create(
  { changes, passwords }: Options,
  { name, password, scopes, withoutPassword = false }: CreateAccountRequest,
  context: Context,
): Promise<Account> {
  const caller = accountOf(context);
  checkAccountName(name);
  if (!withoutPassword) checkPassword("password", password);
  else if (password !== "") throw invalidArgument("password: must be empty for an account without a password");
  const checked = checkedScopes(scopes);
  checkMayGive(caller, checked);
  const hash = withoutPassword ? undefined : await passwords.hash(password);
  await changes.make(authorOf(context), ({ namespaces }) => {
    const present = namespaces.get(caller.namespace)?.accounts;
    if (present?.has(name)) {
      throw alreadyExists(`an account with the name ${name} exists already`);
    }
    if (present && present.size >= MAX_ACCOUNTS) {
      throw failedPrecondition(`the namespace has ${MAX_ACCOUNTS} accounts, the most it may`);
    }
    return [{ $case: "accountCreated", value: { namespace: caller.namespace, name, scopes: checked, password: hash } }];
  });
  const { created } = changes.state.account(caller.namespace, name) ?? {};
  return { name, scopes: checked, created, withoutPassword, disabled: false };
}

async function setScopes(changes: Changes, request: SetScopesRequest, context: Context): Promise<Account> {
  const { name, scopes, expected } = request;
  const caller = accountOf(context);
  const checked = checkedScopes(scopes);
  let account: Account | undefined;
  await changes.make(authorOf(context), (state) => {
    const found = find(state, caller.namespace, name);
    checkMayChange(caller, found);
    checkMayGive(caller, checked, found.scopes);
    if (expected !== undefined) checkExpected(found, expected.scopes);
    account = { ...shown(found), scopes: checked };
    if (!checked.includes(ADMIN_SCOPE)) keepAnAdmin(state, caller.namespace, name);
    return [{ $case: "scopesSet", value: { namespace: caller.namespace, name, scopes: checked } }];
  });
  return account!;
}

/** Setting what is set already changes nothing. */
async function setDisabled(
  changes: Changes,
  { name, disabled }: SetDisabledRequest,
  context: Context,
): Promise<Account> {
  const caller = accountOf(context);
  const { namespace } = caller;
  let account: Account | undefined;
  await changes.make(authorOf(context), (state) => {
    const found = find(state, namespace, name);
    checkMayChange(caller, found);
    account = { ...shown(found), disabled };
    if ((found.disabled ?? false) === disabled) return [];
    if (!disabled) return [{ $case: "accountEnabled", value: { namespace, name } }];
    keepAnAdmin(state, namespace, name);
    return [{ $case: "accountDeleted", value: { namespace, name, disabled } }];
  });
  return account!;
}

/** @throws {StatusError} ABORTED when the account has other scopes than expected. */
function checkExpected({ name, scopes }: AccountState, expected: readonly string[]): void {
  const wanted = new Set(expected);
  if (wanted.size === scopes.length && scopes.every((scope) => wanted.has(scope))) return;
  throw aborted(`${name} holds ${scopes.join(", ") || "no scope"} by now. Nothing was set`);
}

async function setPassword(
  { changes, passwords, attempts }: Options,
  { name: named, currentPassword, newPassword }: SetPasswordRequest,
  context: Context,
): Promise<void> {
  const caller = accountOf(context);
  const { namespace } = caller;
  const name = named || caller.account;
  checkPassword("new_password", newPassword);
  const isOwn = name === caller.account;
  if (!isOwn && !mayReset(caller, name))
    throw permissionDenied("name: only an administrator may set another's password");
  // An administrator needs none. A wrong one is refused, because the caller expects a check.
  if (isOwn && (currentPassword !== "" || !mayReset(caller, name))) {
    const { address, requestId } = originOf(context);
    const attempt = { namespace, account: name, address, requestId };
    const readHash = async (): Promise<PasswordHash | undefined> => {
      await changes.sync();
      return find(changes.state, namespace, name).password;
    };
    if (!(await attempts.verify(attempt, currentPassword, readHash))) {
      throw permissionDenied("current_password: is wrong");
    }
  }
  const password = await passwords.hash(newPassword);
  await changes.make(authorOf(context), (state) => {
    const found = find(state, namespace, name);
    if (!isOwn) checkMayTakeOver(state, caller, found);
    return [{ $case: "passwordSet", value: { namespace, name, password } }];
  });
}

/** Checks what follows from knowing the password of an account, now and after its next sign-in. */
function checkMayTakeOver(state: State, caller: KnownCaller, account: AccountState): void {
  checkMayChange(caller, account);
  for (const { namespace, issuer: name } of state.people.linksOf(caller.namespace, account.name)) {
    const issuer = state.trusts.issuer(namespace, name);
    if (issuer !== undefined) checkGroups(caller, issuer);
  }
}

function listOf(state: State, namespace: string): PageItems<Account> {
  return {
    *after(position) {
      const [last] = position ?? [];
      for (const account of state.accountsFrom(namespace, last)) if (account.name !== last) yield shown(account);
    },
    positionOf: ({ name }) => [name],
    bytesOf: (account) => AccountMessage.encode(account).finish().length,
  };
}

function shown({ name, scopes, created, password, disabled = false }: AccountState): Account {
  return { name, scopes, created, withoutPassword: password === undefined, disabled };
}

function find(state: State, namespace: string, name: string): AccountState {
  const account = state.account(namespace, name);
  if (account === undefined) throw notFound(`no account with the name ${name}`);
  return account;
}

/**
 * @throws {StatusError} FAILED_PRECONDITION when no other account can log in and has the scope
 *   `admin`.
 */
function keepAnAdmin(state: State, namespace: string, name: string): void {
  if (!state.account(namespace, name)?.scopes.includes(ADMIN_SCOPE)) return;
  if (state.accounts(namespace).some((account) => account.name !== name && logsInAsAdmin(account))) return;
  throw lastAdmin(name);
}

/** Whether an account has the scope `admin` and can log in. */
export function logsInAsAdmin({ scopes, password, disabled }: AccountState): boolean {
  return scopes.includes(ADMIN_SCOPE) && password !== undefined && !disabled;
}

export function lastAdmin(name: string): StatusError {
  return failedPrecondition(
    `${name} is the last account with the scope ${ADMIN_SCOPE} that can log in; give another one the scope and a password first`,
  );
}

/** @throws {StatusError} INVALID_ARGUMENT */
export function checkAccountName(name: string): void {
  if (ACCOUNT_NAME.test(name)) return;
  throw invalidArgument("name: must be 1 to 128 letters, digits or . _ @ + -, and start with a letter or digit");
}

/**
 * The scopes, each once.
 * @throws {StatusError} INVALID_ARGUMENT
 */
export function checkedScopes(scopes: readonly string[]): string[] {
  checkEach("scopes", scopes, MAX_SCOPES, checkHeldScope);
  return [...new Set(scopes)];
}
