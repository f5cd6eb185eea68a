/** A namespace in the state. */
import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import type { RevisedLimit } from "../../../../src/gen/portico/auth/v1/policy.js";
import type { Rule } from "../../../../src/gen/portico/auth/v1/rules.js";
import { DraftMap, type MapEntries } from "../changelog/draft-map.js";
import type { FrozenAccount, FrozenNamespace } from "./snapshot-parts.js";

/** An account with its logins and keys. Replaced, never mutated: copies of a namespace share it. */
export type AccountState = FrozenAccount;

/** A namespace with its accounts and rules. */
export interface NamespaceState {
  readonly name: string;
  readonly created: Timestamp | undefined;
  /** Distinguishes namespaces that had the same name; undefined for `default`. */
  readonly id: string | undefined;
  readonly accounts: MapEntries<string, AccountState>;
  /** The names of its accounts, ascending. */
  readonly accountNames: string[];
  readonly rules: MapEntries<string, Rule>;
}

/** A draft of a namespace; see State.draft. */
export function draftOf(namespace: NamespaceState): NamespaceState {
  let names: string[] | undefined;
  return {
    ...namespace,
    accounts: new DraftMap(namespace.accounts),
    // Copied only when needed, because there may be many.
    get accountNames() {
      names ??= [...namespace.accountNames];
      return names;
    },
    rules: new DraftMap(namespace.rules),
  };
}

/** Its current content. */
export function frozen(
  { name, created, id, accounts, rules }: NamespaceState,
  limits: readonly RevisedLimit[],
): FrozenNamespace {
  return { name, created, id, accounts: [...accounts.values()], rules: [...rules.values()], limits };
}
