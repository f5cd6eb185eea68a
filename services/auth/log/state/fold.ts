/**
 * How a log entry changes the state. Every authority must compute the same state from the same
 * entries. So the code here reads nothing but the entry and the state, not even a clock. An event
 * without a target does nothing.
 */
import { isAdminScope } from "../../../../src/contract/admin-parts.js";
import { GATEWAY } from "../../../../src/contract/names.js";
import type { Enrolment, Entry } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import type { Change } from "../../../../src/gen/portico/auth/v1/policy.js";
import type { ConfiguredService } from "../../../../src/gen/portico/registry/v1/services.js";
import { timestampMs } from "../../../../src/time.js";
import { dropShares, LOGIN_FAILED, type PlacedRecord, RecordPlacer, trailOf } from "../audit/audit-records.js";
import { type ApplyEvent, type EventEffect, type EventFolds, tokensRevoked } from "./event-folds.js";
import { ACCOUNT_FOLD, accountChanged } from "./fold-accounts.js";
import { FOLD_OAUTH } from "./fold-oauth.js";
import { PEOPLE_FOLD } from "./fold-people.js";
import { SESSION_FOLD } from "./fold-sessions.js";
import { TRUST_FOLD } from "./fold-trusts.js";
import type { State } from "./state.js";

/** Maximum number of logins of an account at once; a new one replaces the oldest. */
export const MAX_LOGINS = 1_000;
/** Maximum number of valid access tokens of a login; a new one replaces the oldest. */
export const MAX_ACCESS = 16;
/** Maximum number of used refresh tokens that are remembered for a login. */
export const MAX_SPENT = 100;
/** Maximum number of gRPC names in an audit record. */
const MAX_NAMED = 3;

/** The effect of an entry. */
export interface Folded {
  /** Changes for guards. */
  readonly changes: Change[];
  /** Records for the audit trail. */
  readonly records: PlacedRecord[];
}

/** Applies the entry of the next revision to the state. */
export function fold(state: State, entry: Entry): Folded {
  state.revision += 1;
  const changes: Change[] = [];
  const records: PlacedRecord[] = [];
  const placer = new RecordPlacer(state.auditShares);
  // Read before the events are applied, which may change it.
  const administrator = isAdministrator(state, entry);
  for (const { event } of entry.events) {
    if (event === undefined) continue;
    const apply = FOLD[event.$case] as ApplyEvent<unknown>;
    const effect = apply(state, event.value, entry.time, entry.actor);
    changes.push(...(effect.changes ?? []));
    if (effect.record === undefined) continue;
    const record = recordOf(state, entry, effect, administrator && effect.recordOf === undefined);
    const namespace = state.namespaces.get(effect.recordOf?.namespace ?? entry.namespace);
    if (namespace) records.push(placer.place(trailOf(namespace), record));
  }
  state.forget(timestampMs(entry.time));
  return { changes, records };
}

const FOLD: EventFolds = {
  ...ACCOUNT_FOLD,
  ...FOLD_OAUTH,
  ...TRUST_FOLD,
  ...PEOPLE_FOLD,
  ...SESSION_FOLD,
  namespaceCreated: (state, { name, id }, created) => {
    if (state.namespaces.has(name)) return {};
    state.addNamespace({ name, created, id });
    return { record: ["namespace created", name] };
  },
  namespaceDeleted: (state, { name }) => {
    const namespace = state.namespaces.get(name);
    if (namespace === undefined) return {};
    for (const account of namespace.accounts.values()) state.removeAccount(name, account);
    state.namespaces.delete(name);
    state.limits.deleteAll(name);
    state.oauth.removeNamespace(name);
    state.trusts.removeNamespace(name);
    if (namespace.id !== undefined) dropShares(state.auditShares, trailOf(namespace));
    return {
      changes: [{ change: { $case: "namespaceDeleted", value: { namespace: name } } }],
      record: ["namespace deleted", name],
    };
  },
  scopesSet: (state, { namespace, name, scopes }) => {
    const account = state.account(namespace, name);
    if (account === undefined) return {};
    state.setAccount(namespace, { ...account, scopes });
    state.people.keepScopes(namespace, name, scopes);
    return { changes: [accountChanged(namespace, name)], record: ["scopes set", `${name}: ${scopes.join(", ")}`] };
  },
  passwordSet: (state, { namespace, name, password, unchanged }) => {
    const account = state.account(namespace, name);
    if (account === undefined) return {};
    state.removeLogins(namespace, { ...account, password });
    return {
      changes: [accountChanged(namespace, name)],
      record: [unchanged ? "signed out everywhere" : "password set", name],
    };
  },
  ruleCreated: (state, { namespace, rule, replaced }) => {
    const { rules, id: namespaceId = "" } = state.namespaces.get(namespace) ?? {};
    if (rule === undefined || rules === undefined) return {};
    // A version that does not know disabled rules may have created another with the ID of one.
    const present = rules.get(rule.id);
    if (present !== undefined && !present.disabled) return {};
    rules.set(rule.id, rule);
    return {
      changes: [{ change: { $case: "ruleCreated", value: { namespace, rule, namespaceId } } }],
      record: recordOfChange("rule", rule, replaced),
    };
  },
  disabledRuleCreated: (state, { namespace, rule, replaced }) => {
    const rules = state.namespaces.get(namespace)?.rules;
    if (rule === undefined || rules === undefined || rules.has(rule.id)) return {};
    rules.set(rule.id, rule);
    // Guards of earlier versions would decide by disabled rules, so no guard is sent them.
    return { record: recordOfChange("rule", rule, replaced) };
  },
  ruleDeleted: (state, { namespace, id, replaced }) => {
    const rules = state.namespaces.get(namespace)?.rules;
    const rule = rules?.get(id);
    if (rules === undefined || rule === undefined) return {};
    rules.delete(id);
    const value = { namespace, id, resource: rule.resource };
    return {
      changes: rule.disabled ? [] : [{ change: { $case: "ruleDeleted", value } }],
      ...(!replaced && { record: ["rule deleted", id] as const }),
    };
  },
  loggedIn: (state, { login, namespace, account, access, refresh }) => {
    if (state.account(namespace, account) === undefined || access === undefined || refresh === undefined) return {};
    if (state.login(login) !== undefined) return {};
    state.addLogin({ login, namespace, account, access: [access], refresh, spent: [] });
    const owner = state.account(namespace, account)!;
    const oldest = owner.logins.length > MAX_LOGINS ? state.oldestLogin(owner) : undefined;
    const revoked = oldest === undefined ? [] : state.removeLogin(oldest);
    return { changes: tokensRevoked(revoked), record: ["logged in", account] };
  },
  refreshed: (state, { login: name, access, refresh }) => {
    const login = state.login(name);
    if (login === undefined || access === undefined || refresh === undefined) return {};
    const revoked = state.removeLogin(login).slice(0, 1 - MAX_ACCESS);
    state.addLogin({
      ...login,
      access: [...login.access.slice(1 - MAX_ACCESS), access],
      spent: [...login.spent, ...(login.refresh ? [login.refresh] : [])].slice(-MAX_SPENT),
      refresh,
    });
    return { changes: tokensRevoked(revoked) };
  },
  loginsFailed: (_, { namespace, account, address, count, requestId }) => ({
    record: [LOGIN_FAILED, address === "" ? `${count} more` : `from ${address}`],
    recordOf: { namespace, actor: account, address, requestId },
  }),
  loginRevoked: (state, { login: name, reused }) => {
    const login = state.login(name);
    if (login === undefined) return {};
    return {
      changes: tokensRevoked(state.removeLogin(login)),
      record: [reused ? "login revoked: refresh token used twice" : "logged out", login.account],
    };
  },
  keyRevoked: (state, { sha256 }) => {
    const key = state.removeKey(sha256);
    return key === undefined ? {} : { changes: tokensRevoked([sha256]), record: ["key revoked", key.prefix] };
  },
  keyShortened: (state, { sha256, expires }) => {
    const key = state.changeKey(sha256, { expires });
    return key === undefined ? {} : { changes: tokensRevoked([sha256]), record: ["key shortened", key.prefix] };
  },
  keysUsed: (state, { uses }) => {
    for (const { sha256, time } of uses) {
      // Each authority writes the uses that its own guards reported, so an earlier use may come
      // later.
      const known = state.token(sha256);
      const last = known?.kind === "key" ? known.key.lastUsed : undefined;
      if (last === undefined || timestampMs(time) > timestampMs(last)) state.changeKey(sha256, { lastUsed: time });
    }
    return {};
  },
  enrolmentCreated: (state, { name, sha256, beside, prefix }, created) => {
    const changes = beside ? [] : removeEnrolments(state, state.enrolmentsOf(name));
    state.addEnrolment({ name, sha256, created, prefix });
    return { changes, record: ["enrolment created", name] };
  },
  enrolmentDeleted: (state, { name, sha256 }) => {
    const all = state.enrolmentsOf(name);
    const changes = removeEnrolments(state, sha256.length === 0 ? all : all.filter((one) => one.sha256.equals(sha256)));
    return changes.length === 0 ? {} : { changes, record: ["enrolment deleted", name] };
  },
  contextSecretCreated: (state, { secret }) => {
    state.contextSecret = Buffer.from(secret);
    state.keyGenerations.set(GATEWAY, state.revision);
    return { changes: keysChanged(state, GATEWAY) };
  },
  installationCreated: (state, { id }) => {
    state.installationId = id;
    return {};
  },
  backupRestored: (state, { made, revision, keepsLogins }) => {
    const from = new Date(timestampMs(made)).toISOString();
    const logins = keepsLogins ? "logins kept" : "logins ended";
    const record = ["backup restored", `of ${from}, revision ${revision}, ${logins}`] as const;
    return { changes: keepsLogins ? [] : endAllLogins(state), record };
  },
  grpcNamesClaimed: (state, { service, names }) => {
    const claimed = state.grpcNames.claim(service, names, state.revision);
    return claimed.length === 0 ? {} : { record: ["gRPC names claimed", namesOf(service, claimed)] };
  },
  grpcNamesReleased: (state, { service, names }) => {
    const released = state.grpcNames.release(service, names, state.revision);
    return released.length === 0 ? {} : { record: ["gRPC names released", namesOf(service, released)] };
  },
  servicePut: (state, { service }) => {
    if (service === undefined) return {};
    const before = state.services.get(service.name);
    state.services.put(service, state.revision);
    const changes = assertionSet(state, service.name, before, service);
    if (before === undefined) return { changes, record: ["service added", service.name] };
    return { changes, record: ["service changed", namesOf(service.name, changedParts(before, service))] };
  },
  serviceDeleted: (state, { name }) => {
    const before = state.services.get(name);
    if (before === undefined) return {};
    state.services.delete(name, state.revision);
    return { changes: assertionSet(state, name, before, undefined), record: ["service removed", name] };
  },
  limitSet: (state, { namespace, limit }) => {
    const { id: namespaceId = "" } = state.namespaces.get(namespace) ?? {};
    if (limit === undefined || !state.namespaces.has(namespace)) return {};
    const replaced = state.limits.get(namespace, limit.id)?.limit;
    const revised = { limit, revision: BigInt(state.revision) };
    state.limits.set(namespace, revised);
    return {
      changes: [{ change: { $case: "limitSet", value: { namespace, namespaceId, limit: revised } } }],
      record: recordOfChange("limit", limit, replaced),
    };
  },
  limitDeleted: (state, { namespace, id }) => {
    if (!state.limits.delete(namespace, id)) return {};
    return {
      changes: [{ change: { $case: "limitDeleted", value: { namespace, id } } }],
      record: ["limit deleted", id],
    };
  },
  lendersSet: (state, { ids }) => {
    state.limits.lenders = { ids, revision: BigInt(state.revision) };
    return { changes: [{ change: { $case: "lenders", value: state.limits.lenders } }] };
  },
};

/** Ends the logins, grants, page sessions and tokens of trusts of every account. */
function endAllLogins(state: State): Change[] {
  return [...state.namespaces.values()].flatMap(({ name }) =>
    state.accounts(name).map((account) => {
      state.removeLogins(name, account);
      return accountChanged(name, account.name);
    }),
  );
}

/** The record of a rule or limit that was created, or that replaces another. */
function recordOfChange<T extends { id: string }>(noun: string, now: T, replaced: T | undefined) {
  if (replaced === undefined) return [`${noun} created`, now.id] as const;
  const changed = (Object.keys(now) as (keyof T & string)[]).filter((name) => now[name] !== replaced[name]);
  return [`${noun} changed`, namesOf(now.id, changed)] as const;
}

/** Only the first names, because there may be a thousand. */
function namesOf(service: string, names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `${service}: ${names.slice(0, MAX_NAMED).join(", ")}${more}`;
}

/** The names of what differs, without the values: `targets`, `descriptors` and single options. */
function changedParts(before: ConfiguredService, now: ConfiguredService): string[] {
  const parts = (service: ConfiguredService): Record<string, unknown> => {
    const { targets, descriptors, options } = service;
    return { targets, descriptors: descriptors.toString("base64"), ...options };
  };
  const [old, after] = [parts(before), parts(now)];
  const names = Object.keys({ ...old, ...after });
  const changed = names.filter((name) => JSON.stringify(old[name], shown) !== JSON.stringify(after[name], shown));
  return changed.length === 0 ? ["nothing"] : changed;
}

/** JSON has no 64-bit integers, which a duration is made of. */
const shown = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}` : value);

/** Removes enrolments of one name, and replaces the name's key, because their holders know it. */
function removeEnrolments(state: State, enrolments: Enrolment[]): Change[] {
  const [first] = enrolments;
  if (first === undefined) return [];
  for (const enrolment of enrolments) state.removeEnrolment(enrolment);
  state.keyGenerations.set(first.name, state.revision);
  return [...tokensRevoked(enrolments.map(({ sha256 }) => sha256)), ...keysChanged(state, first.name)];
}

/**
 * Replaces the key of a configured service when it begins or stops to get caller assertions. Its
 * old key was shown to it, and must not verify assertions for another service with the same name.
 */
function assertionSet(
  state: State,
  name: string,
  before: ConfiguredService | undefined,
  after: ConfiguredService | undefined,
): Change[] {
  if ((before?.options?.assertion ?? false) === (after?.options?.assertion ?? false)) return [];
  state.keyGenerations.set(name, state.revision);
  return keysChanged(state, name);
}

/** Changes for guards when the key of a name has changed. With the key of `gateway`, all change. */
function keysChanged(state: State, name: string): Change[] {
  const enrolled = [...state.enrolments.values()].map((enrolment) => enrolment.name);
  const names = name === GATEWAY ? new Set([GATEWAY, ...enrolled]) : [name];
  return [...names]
    .flatMap((one) => state.assertionKeys(one))
    .map((value) => ({ change: { $case: "contextKey", value } }));
}

function recordOf(state: State, entry: Entry, { record, recordOf }: EventEffect, administrator: boolean): AuditRecord {
  const { actor } = recordOf ?? entry;
  const { address = "", requestId = "" } = recordOf ?? {};
  const [action = "", subject = ""] = record ?? [];
  const revision = BigInt(state.revision);
  // The key of its row says the namespace and the cursor.
  const place = { namespace: "", cursor: "" };
  return { revision, time: entry.time, actor, action, subject, administrator, address, requestId, key: "", ...place };
}

/**
 * Whether the author administers anything, or is the authority itself, which has no account. Their
 * records are kept: who administers a part could hide what he did under many other changes.
 */
function isAdministrator(state: State, { namespace, actor }: Entry): boolean {
  const account = state.account(namespace, actor);
  return account === undefined ? actor === "portico" : account.scopes.some(isAdminScope);
}
