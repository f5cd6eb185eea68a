/**
 * How events of accounts and keys change the state, where a version before them must not grant more
 * than this one:
 *
 *   - An account is disabled by the event that deletes it, with the flag `disabled`. A version that
 *     does not know the flag deletes the account, and refuses its tokens and keys as this one does.
 *     It may create another account of that name. So here a creation replaces a disabled account.
 *   - A key that may do less than its account has an event of its own. A version that does not know
 *     the event does not know the key.
 */
import type {
  AccountCreated,
  AccountDeleted,
  AccountEnabled,
  KeyCreated,
} from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Change } from "../../../../src/gen/portico/auth/v1/policy.js";
import type { EventEffect, EventFolds } from "./event-folds.js";
import type { State } from "./state.js";

type Events = "accountCreated" | "accountDeleted" | "accountEnabled" | "keyCreated" | "restrictedKeyCreated";

export const ACCOUNT_FOLD: Pick<EventFolds, Events> = {
  accountCreated: (state, { namespace, name, scopes, password }: AccountCreated, created) => {
    const { accounts } = state.namespaces.get(namespace) ?? {};
    const present = accounts?.get(name);
    if (accounts === undefined || (present !== undefined && !present.disabled)) return {};
    if (present !== undefined) state.removeAccount(namespace, present);
    state.addAccount(namespace, { name, scopes, created, password });
    return { changes: [accountChanged(namespace, name)], record: ["account created", name] };
  },
  accountDeleted: (state, { namespace, name, disabled }: AccountDeleted) => {
    const account = state.account(namespace, name);
    if (account === undefined) return {};
    if (disabled) state.removeLogins(namespace, { ...account, disabled: true });
    else state.removeAccount(namespace, account);
    return {
      changes: [accountChanged(namespace, name)],
      record: [disabled ? "account disabled" : "account deleted", name],
    };
  },
  accountEnabled: (state, { namespace, name }: AccountEnabled) => {
    const account = state.account(namespace, name);
    if (!account?.disabled) return {};
    state.setAccount(namespace, { ...account, disabled: undefined });
    return { changes: [accountChanged(namespace, name)], record: ["account enabled", name] };
  },
  keyCreated: (state, value, _, actor) => addKey(state, value, actor),
  restrictedKeyCreated: (state, value, _, actor) => addKey(state, value, actor),
};

function addKey(state: State, { key }: KeyCreated, actor: string): EventEffect {
  if (key === undefined || state.account(key.namespace, key.account) === undefined) return {};
  if (state.token(key.sha256) !== undefined) return {};
  state.addKey(key);
  return { record: ["key created", actor === key.account ? key.prefix : `${key.prefix} of ${key.account}`] };
}

/** Guards look up the callers of the account again. */
export function accountChanged(namespace: string, account: string): Change {
  return { change: { $case: "accountChanged", value: { namespace, account } } };
}
