/**
 * The events that give a namespace a configuration, in one entry. Each is decided on a draft that
 * has those before it. Nothing that another item needs is deleted before that item has changed.
 */
import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { failedPrecondition, invalidArgument } from "../../../src/errors.js";
import type { Account } from "../../../src/gen/portico/auth/v1/accounts.js";
import type { Configuration } from "../../../src/gen/portico/auth/v1/configurations.js";
import type { Issuer } from "../../../src/gen/portico/auth/v1/issuers.js";
import type { Limit } from "../../../src/gen/portico/auth/v1/limits.js";
import type { Rule } from "../../../src/gen/portico/auth/v1/rules.js";
import type { Trust } from "../../../src/gen/portico/auth/v1/trusts.js";
import type { ConfiguredService } from "../../../src/gen/portico/registry/v1/services.js";
import { toTimestamp } from "../../../src/time.js";
import { checkAccountName, checkedScopes, lastAdmin, logsInAsAdmin } from "../endpoints/accounts.js";
import { type AdminShare, shareOfRules } from "../endpoints/admin-share.js";
import { checkMayChange, checkMayGive } from "../endpoints/administration.js";
import { MAX_ACCOUNTS } from "../endpoints/checks.js";
import { checkedLimit, MAX_LIMITS } from "../endpoints/limits.js";
import { checkedRule, ruleSet } from "../endpoints/rules.js";
import { checkIssuer, MAX_ISSUERS } from "../jwt/issuers.js";
import { checkFits, checkTrust } from "../jwt/trusts.js";
import type { LogEvent } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import { checkSize } from "../stored-services.js";
import { type Differences, Draft, differencesIn, inItem, type Wanted } from "./draft.js";
import { inShare } from "./read.js";
import { ACCOUNTS, configuredAccount, ISSUERS, LIMITS, RULES, SERVICES, TRUSTS } from "./sections.js";

export interface PlanOptions {
  readonly caller: KnownCaller;
  /** Whether what the sections do not list is deleted. */
  readonly prune: boolean;
  /** Maximum number of rules of a namespace. */
  readonly maxRules: number;
  /** Throws a StatusError for a service that cannot be followed. */
  readonly checkService: (service: ConfiguredService) => void;
  /** In milliseconds since 1970. */
  readonly now: number;
}

/**
 * @returns a draft with the events, and the state after them
 * @throws {StatusError} if the configuration cannot be; its message begins with a place
 */
export function planOf(state: State, configuration: Configuration, options: PlanOptions): Draft {
  const draft = new Draft(state, { namespace: options.caller.namespace, time: toTimestamp(options.now) });
  const { accounts, issuers, trusts } = configuration;
  const share = shareOfRules(state, options.caller);
  planRules(draft, configuration, share, options);
  planLimits(draft, configuration, share, options);
  planServices(draft, configuration, options);
  const ofIssuers = issuers && differencesIn(ISSUERS, issuers.issuers, draft, checkedIssuer);
  const ofAccounts = accounts && differencesIn(ACCOUNTS, accounts.accounts, draft, checkedAccount);
  if (ofIssuers !== undefined) putIssuers(draft, ofIssuers);
  if (ofAccounts !== undefined) putAccounts(draft, ofAccounts, options);
  if (trusts !== undefined) planTrusts(draft, trusts.trusts, options);
  if (ofIssuers !== undefined && options.prune) deleteIssuers(draft, ofIssuers);
  if (ofAccounts !== undefined && options.prune) deleteAccounts(draft, ofAccounts, options);
  if (trusts !== undefined) checkKept(draft, trusts.trusts);
  checkCounts(state, draft, options);
  checkAdmin(state, draft);
  return draft;
}

/** Of a share: each listed rule must be in it, changed or not, and only its rules are deleted. */
function planRules(draft: Draft, { rules }: Configuration, share: AdminShare, { prune }: PlanOptions): void {
  if (rules === undefined) return;
  const { namespace } = draft;
  const checked = (rule: Rule, place: string): Rule => {
    const item = checkedRule(rule, place);
    inItem(place, () => share.checkRule(item));
    return item;
  };
  const { wanted, unlisted } = differencesIn(RULES, rules.rules, draft, checked);
  for (const { id } of prune ? inShare(RULES, share, unlisted) : [])
    draft.add({ $case: "ruleDeleted", value: { namespace, id, replaced: false } });
  for (const { item: rule, place, present } of wanted) {
    inItem(place, () => share.checkRule(rule, present));
    draft.add(...ruleSet({ namespace, rule, ...(present && { replaced: present }) }));
  }
}

/** As planRules. */
function planLimits(draft: Draft, { limits }: Configuration, share: AdminShare, { prune }: PlanOptions): void {
  if (limits === undefined) return;
  const { namespace } = draft;
  const checked = (limit: Limit, place: string): Limit => {
    const item = checkedLimit(limit, place);
    return inItem(place, () => share.checkedLimit(item));
  };
  const { wanted, unlisted } = differencesIn(LIMITS, limits.limits, draft, checked);
  for (const { id } of prune ? inShare(LIMITS, share, unlisted) : [])
    draft.add({ $case: "limitDeleted", value: { namespace, id } });
  for (const { item, place, present } of wanted) {
    const limit = inItem(place, () => share.checkedLimit(item, present));
    draft.add({ $case: "limitSet", value: { namespace, limit } });
  }
}

function planServices(draft: Draft, { services }: Configuration, { prune, checkService }: PlanOptions): void {
  if (services === undefined) return;
  const checked = (service: ConfiguredService, place: string): ConfiguredService => {
    inItem(place, () => checkService(service));
    return service;
  };
  const { wanted, unlisted } = differencesIn(SERVICES, services.services, draft, checked);
  for (const { name } of prune ? unlisted : []) draft.add({ $case: "serviceDeleted", value: { name } });
  for (const { item: service } of wanted) draft.add({ $case: "servicePut", value: { service } });
  const last = wanted.at(-1);
  if (last !== undefined) inItem("services", () => checkSize(draft.state, last.item));
}

/** The services that a configuration adds or changes. */
export function changedServices(state: State, { services }: Configuration): readonly Wanted<ConfiguredService>[] {
  const present = { state, namespace: DEFAULT_NAMESPACE };
  return services === undefined ? [] : differencesIn(SERVICES, services.services, present, (service) => service).wanted;
}

function checkedAccount(account: Account, place: string): Account {
  return inItem(place, () => {
    checkAccountName(account.name);
    return configuredAccount({ ...account, scopes: checkedScopes(account.scopes) });
  });
}

function putAccounts(draft: Draft, { wanted }: Differences<Account>, { caller }: PlanOptions): void {
  const { namespace, state } = draft;
  const given = state.people.scopesOfGroups(namespace);
  for (const { item, place, present } of wanted) {
    const { name, scopes, disabled } = item;
    inItem(place, () => {
      checkMayChange(caller, withAllScopes(draft, item));
      checkMayGive(caller, scopes, present?.scopes);
    });
    if (present === undefined) {
      draft.add({ $case: "accountCreated", value: { namespace, name, scopes, password: undefined } });
    } else if (present.scopes.join() !== scopes.join()) {
      draft.add(...scopesOwned(state, namespace, item));
      const others = [...(given.get(name) ?? [])].filter((scope) => !scopes.includes(scope));
      draft.add({ $case: "scopesSet", value: { namespace, name, scopes: [...scopes, ...others] } });
    }
    if (disabled === (present?.disabled ?? false)) continue;
    if (disabled) draft.add({ $case: "accountDeleted", value: { namespace, name, disabled } });
    else draft.add({ $case: "accountEnabled", value: { namespace, name } });
  }
}

/** As it is now, with scopes that groups give: a configuration has none of those. */
function withAllScopes({ state, namespace }: Draft, { name }: Account) {
  return state.account(namespace, name) ?? { name, scopes: [] };
}

/** Scopes that groups gave so far, and that the account now has whatever its groups are. */
function scopesOwned(state: State, namespace: string, { name, scopes: owned }: Account): LogEvent[] {
  return state.people
    .linksOf(namespace, name)
    .filter(({ scopes }) => scopes.some((scope) => owned.includes(scope)))
    .map(({ issuer, subject, scopes: all }) => {
      const scopes = all.filter((scope) => !owned.includes(scope));
      return { $case: "personRead", value: { namespace, issuer, subject, scopes, refreshToken: "", notAsked: true } };
    });
}

/** Accounts of people who sign in by an issuer stay: the issuer creates them, not the file. */
function deleteAccounts(draft: Draft, { unlisted }: Differences<Account>, { caller }: PlanOptions): void {
  const ofPeople = draft.state.people.scopesOfGroups(draft.namespace);
  for (const account of unlisted) {
    if (ofPeople.has(account.name)) continue;
    inItem("accounts", () => checkMayChange(caller, withAllScopes(draft, account)));
    draft.add({ $case: "accountDeleted", value: { namespace: draft.namespace, name: account.name } });
  }
}

function checkedIssuer(issuer: Issuer, place: string): Issuer {
  inItem(place, () => {
    checkIssuer(issuer);
    if (issuer.signIn !== undefined) throw invalidArgument("sign_in: needs a secret; create such an issuer by itself");
  });
  return issuer;
}

/** An issuer that changes is deleted and created again, and so are its trusts. */
function putIssuers(draft: Draft, { wanted }: Differences<Issuer>): void {
  const { namespace, state } = draft;
  for (const { item, place, present } of wanted) {
    const { name, url } = item;
    const vouching = { namespace, name, url, created: undefined, signIn: undefined, clientSecret: "" };
    const trusts = state.trusts.trustsOf(namespace).filter(({ issuer }) => issuer === name);
    if (present === undefined && state.trusts.issuer(namespace, name) !== undefined)
      inItem(place, () => {
        throw failedPrecondition(`people sign in by the issuer ${name}, and a file changes none of those`);
      });
    if (present !== undefined) draft.add({ $case: "issuerDeleted", value: { namespace, name } });
    draft.add({ $case: "issuerCreated", value: { issuer: vouching } });
    for (const trust of trusts) {
      inItem(place, () => checkFits(state, trust));
      draft.add({ $case: "trustCreated", value: { trust: { ...trust, created: undefined } } });
    }
  }
}

function deleteIssuers(draft: Draft, { unlisted }: Differences<Issuer>): void {
  for (const { name } of unlisted) draft.add({ $case: "issuerDeleted", value: { namespace: draft.namespace, name } });
}

/** Deletes first what changes, so that a trust can take the subject that another had. */
function planTrusts(draft: Draft, listed: readonly Trust[], { prune }: PlanOptions): void {
  const { namespace } = draft;
  const checked = (trust: Trust, place: string): Trust => {
    inItem(place, () => checkTrust(trust));
    return trust;
  };
  const { wanted, unlisted } = differencesIn(TRUSTS, listed, draft, checked);
  const changed = wanted.filter(({ present }) => present !== undefined).map(({ item }) => item);
  for (const { name } of [...changed, ...(prune ? unlisted : [])])
    draft.add({ $case: "trustDeleted", value: { namespace, name } });
  for (const { item, place } of wanted) {
    const { name, issuer, audience, subject, account, bearer } = item;
    const trust = { namespace, name, issuer, audience, subject, account, bearer, created: undefined };
    inItem(place, () => checkFits(draft.state, trust));
    draft.add({ $case: "trustCreated", value: { trust } });
  }
}

/** @throws {StatusError} FAILED_PRECONDITION if a listed trust would end with what is deleted */
function checkKept({ state, namespace }: Draft, listed: readonly Trust[]): void {
  for (const [index, { name, issuer, account }] of listed.entries()) {
    if (state.trusts.trust(namespace, name) !== undefined) continue;
    const lost = state.trusts.issuer(namespace, issuer) === undefined ? `issuer ${issuer}` : `account ${account}`;
    throw failedPrecondition(`trusts[${index}]: its ${lost} is not listed, and would be deleted`);
  }
}

/** @throws {StatusError} FAILED_PRECONDITION if there would be more of something than may be */
function checkCounts(before: State, { state, namespace }: Draft, { maxRules }: PlanOptions): void {
  const counts = (of: State): [name: string, count: number, max: number][] => [
    ["rules", of.namespaces.get(namespace)?.rules.size ?? 0, maxRules],
    ["accounts", of.namespaces.get(namespace)?.accounts.size ?? 0, MAX_ACCOUNTS],
    ["issuers", of.trusts.issuersOf(namespace).length, MAX_ISSUERS],
    ["limits", of.limits.size, MAX_LIMITS],
  ];
  const old = counts(before);
  for (const [index, [name, count, max]] of counts(state).entries()) {
    if (count <= max || count <= old[index]![1]) continue;
    throw failedPrecondition(`${name}: there would be ${count}, and ${max} is the maximum`);
  }
}

/** @throws {StatusError} FAILED_PRECONDITION if nobody could log in as an administrator any more */
function checkAdmin(before: State, { state, namespace }: Draft): void {
  const admin = before.accounts(namespace).find(logsInAsAdmin);
  if (admin === undefined || state.accounts(namespace).some(logsInAsAdmin)) return;
  inItem("accounts", () => {
    throw lastAdmin(admin.name);
  });
}
