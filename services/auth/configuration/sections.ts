/**
 * The sections of a configuration: what each lists, how it is read from the state, and which part
 * of administration it takes.
 */
import { AdminPart } from "../../../src/contract/admin-parts.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { Account } from "../../../src/gen/portico/auth/v1/accounts.js";
import type { Configuration } from "../../../src/gen/portico/auth/v1/configurations.js";
import { Issuer } from "../../../src/gen/portico/auth/v1/issuers.js";
import type { Limit } from "../../../src/gen/portico/auth/v1/limits.js";
import { Rule } from "../../../src/gen/portico/auth/v1/rules.js";
import { Trust } from "../../../src/gen/portico/auth/v1/trusts.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { ConfiguredService } from "../../../src/gen/portico/registry/v1/services.js";
import type { AdminShare } from "../endpoints/admin-share.js";
import { encodeLimit } from "../endpoints/limits.js";
import { compareRules } from "../endpoints/rules.js";
import type { AccountState } from "../log/state/namespace-state.js";
import type { State } from "../log/state/state.js";

type SectionName = "rules" | "limits" | "accounts" | "services" | "issuers" | "trusts";
/** An item of any section. */
export type ConfiguredItem = Rule | Limit | Account | ConfiguredService | Issuer | Trust;

/** Its functions are methods, so that TypeScript takes a Section<Rule> for a Section. */
export interface Section<T extends ConfiguredItem = ConfiguredItem> {
  readonly name: SectionName;
  readonly part: AdminPart;
  /** Whether a share of the section has an item; absent where only who administers all has some. */
  isIn?(share: AdminShare, item: T): boolean;
  /** The items of a configuration; undefined if it does not have the section. */
  of(configuration: Configuration): readonly T[] | undefined;
  /** A configuration that has only this section. */
  with(items: T[]): Partial<Configuration>;
  /** The items of the state, in their order. */
  read(state: State, namespace: string): T[];
  /** Without what is not configured, such as the time of creation. */
  encode(item: T): Uint8Array;
}

export const RULES: Section<Rule> = {
  name: "rules",
  part: AdminPart.RULES,
  of: ({ rules }) => rules?.rules,
  with: (rules) => ({ rules: { rules } }),
  read: (state, namespace) => [...(state.namespaces.get(namespace)?.rules.values() ?? [])].sort(compareRules),
  encode: (rule) => Rule.encode(rule).finish(),
  isIn: (share, rule) => share.hasRule(rule),
};

export const LIMITS: Section<Limit> = {
  name: "limits",
  part: AdminPart.RULES,
  of: ({ limits }) => limits?.limits,
  with: (limits) => ({ limits: { limits } }),
  read: (state, namespace) =>
    state.limits
      .of(namespace)
      .map(({ limit }) => limit)
      .sort(byKey),
  encode: encodeLimit,
  isIn: (share, limit) => share.hasLimit(limit),
};

export const ACCOUNTS: Section<Account> = {
  name: "accounts",
  part: AdminPart.ACCOUNTS,
  of: ({ accounts }) => accounts?.accounts,
  with: (accounts) => ({ accounts: { accounts } }),
  read: (state, namespace) => ownAccounts(state, namespace).map(configuredAccount).sort(byKey),
  encode: (account) => Account.encode(configuredAccount(account)).finish(),
};

export const SERVICES: Section<ConfiguredService> = {
  name: "services",
  part: AdminPart.WHOLE,
  of: ({ services }) => services?.services,
  with: (services) => ({ services: { services } }),
  read: (state, namespace) =>
    namespace === DEFAULT_NAMESPACE ? [...state.services].map(([, service]) => explicit(service)).sort(byKey) : [],
  encode: (service) => ConfiguredService.encode(explicit(service)).finish(),
};

export const ISSUERS: Section<Issuer> = {
  name: "issuers",
  part: AdminPart.WHOLE,
  of: ({ issuers }) => issuers?.issuers,
  with: (issuers) => ({ issuers: { issuers } }),
  read: (state, namespace) => state.trusts.issuersOf(namespace).filter(isForPrograms).map(configuredIssuer).sort(byKey),
  encode: (issuer) => Issuer.encode(configuredIssuer(issuer)).finish(),
};

export const TRUSTS: Section<Trust> = {
  name: "trusts",
  part: AdminPart.WHOLE,
  of: ({ trusts }) => trusts?.trusts,
  with: (trusts) => ({ trusts: { trusts } }),
  read: (state, namespace) => state.trusts.trustsOf(namespace).map(configuredTrust).sort(byKey),
  encode: (trust) => Trust.encode(configuredTrust(trust)).finish(),
};

/** In the order of a file. */
export const SECTIONS: readonly Section[] = [RULES, LIMITS, ACCOUNTS, SERVICES, ISSUERS, TRUSTS];

/** What names an item in its section. */
export function keyOf(item: ConfiguredItem): string {
  return "id" in item ? item.id : item.name;
}

function byKey(a: ConfiguredItem, b: ConfiguredItem): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** The order of scopes means nothing. */
export function configuredAccount({
  name,
  scopes,
  disabled = false,
}: Pick<Account, "name" | "scopes"> & { disabled?: boolean | undefined }): Account {
  return { name, scopes: [...new Set(scopes)].sort(), disabled, created: undefined, withoutPassword: false };
}

/** Without scopes that groups give: another group is no change of the configuration. */
function ownAccounts(state: State, namespace: string): Pick<AccountState, "name" | "scopes" | "disabled">[] {
  const given = state.people.scopesOfGroups(namespace);
  return state.accounts(namespace).map(({ name, scopes, disabled }) => {
    const others = given.get(name);
    return { name, scopes: others === undefined ? scopes : scopes.filter((scope) => !others.has(scope)), disabled };
  });
}

/** Those by which people sign in are left out, because they have a secret. */
function isForPrograms({ signIn }: Pick<Issuer, "signIn">): boolean {
  return signIn === undefined;
}

function configuredIssuer({ name, url }: Pick<Issuer, "name" | "url">): Issuer {
  return { name, url, created: undefined, signIn: undefined, callbackPath: "" };
}

function configuredTrust({ name, issuer, audience, subject, account, bearer }: Omit<Trust, "created">): Trust {
  return { name, issuer, audience, subject, account, bearer, created: undefined };
}

/** With the options and weights that it has if it states none. */
function explicit(service: ConfiguredService): ConfiguredService {
  const targets = service.targets.map(({ address, weight }) => ({ address, weight: weight || 1 }));
  return { ...service, targets, options: service.options ?? ServiceOptions.fromPartial({}) };
}
