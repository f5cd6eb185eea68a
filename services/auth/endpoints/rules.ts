/**
 * Rules: lists, creates, sets and deletes rules of the caller's namespace; explains and previews
 * them.
 */

import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { explainFor } from "../../../src/access/decide/agents.js";
import { withinLimits } from "../../../src/access/decide/limits.js";
import { checkRule, RuleSet } from "../../../src/access/decide/rules.js";
import type { Caller } from "../../../src/call/caller.js";
import type { Resource } from "../../../src/contract/resource.js";
import { agentScopeOf } from "../../../src/contract/scope.js";
import {
  aborted,
  alreadyExists,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
  type StatusError,
} from "../../../src/errors.js";
import type { RuleCreated, Key as StoredKey } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type ExplainRequest,
  type ExplainResponse,
  type PreviewRequest,
  type PreviewResponse,
  Rule,
  RulesService,
  type SetRuleRequest,
} from "../../../src/gen/portico/auth/v1/rules.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { limitsFor } from "../limits/applying.js";
import type { LimitUses } from "../limits/uses.js";
import type { Changes } from "../log/changelog/changes.js";
import type { LogEvent } from "../log/changelog/decide.js";
import { endedKeyWithPrefix } from "../log/state/ended-keys.js";
import type { NamespaceState } from "../log/state/namespace-state.js";
import type { State } from "../log/state/state.js";
import { isMcpOnly, scopesOf } from "../oauth/scopes.js";
import { shareOfRules } from "./admin-share.js";
import { chainOf, chainOfDecision, chainOfEnded, type ExplainedAgent } from "./chain.js";
import { accountOf, authorOf, checkLiteral, checkMessage } from "./checks.js";
import { findByPrefixOrName, shown } from "./keys.js";
import { ALL_AT_ONCE, type PageItems, pageOf } from "./page.js";
import { codeOf, isSelfGoverned, previewOf } from "./preview.js";

const MAX_RESOURCES = 10_000;

interface Options {
  readonly changes: Changes;
  readonly maxRules: number;
  readonly uses: LimitUses;
}

/** The gRPC service portico.auth.v1.Rules. */
export function rules({ changes, maxRules, uses }: Options): ServicePart {
  return part(RulesService, {
    list: async (request, context) => {
      const caller = accountOf(context);
      await changes.sync();
      const { items, nextPageToken } = pageOf(request, listOf(changes.state, caller), ALL_AT_ONCE);
      return { rules: items, nextPageToken };
    },
    create: (request, context) => create({ changes, maxRules }, checkedRule(request.rule), context),
    set: (request, context) => set(changes, request, context),
    delete: async ({ id }, context) => {
      const caller = accountOf(context);
      const { namespace } = caller;
      await changes.make(authorOf(context), (state) => {
        shareOfRules(state, caller).checkRuleDeleted(presentOf(state, namespace, id));
        return [{ $case: "ruleDeleted", value: { namespace, id, replaced: false } }];
      });
      return {};
    },
    explain: (request, context) => explain({ changes, uses }, request, context),
    preview: (request, context) => preview(changes, request, context),
  });
}

async function create({ changes, maxRules }: Omit<Options, "uses">, rule: Rule, context: Context): Promise<Rule> {
  const caller = accountOf(context);
  await changes.make(authorOf(context), (state) => {
    shareOfRules(state, caller).checkRule(rule);
    const present = rulesOf(state, caller.namespace);
    if (present.has(rule.id)) throw taken(rule.id);
    if (present.size >= maxRules) {
      throw failedPrecondition(`the namespace has ${maxRules} rules, the most it may; delete one`);
    }
    return ruleSet({ namespace: caller.namespace, rule });
  });
  return rule;
}

async function set(changes: Changes, { rule: asked, expected }: SetRuleRequest, context: Context): Promise<Rule> {
  const caller = accountOf(context);
  const { namespace } = caller;
  await changes.sync();
  // A request that names no rule says so, whatever else is wrong with it.
  if (asked !== undefined) presentOf(changes.state, namespace, asked.id);
  const rule = checkedRule(asked);
  // It may take access away, so it is made as a deletion is.
  await changes.make(authorOf(context), (state) => {
    const replaced = presentOf(state, namespace, rule.id);
    shareOfRules(state, caller).checkRule(rule, replaced);
    if (expected !== undefined && !isSame(expected, replaced)) {
      throw aborted(`the rule ${rule.id} was changed meanwhile; list it and try again`);
    }
    return isSame(rule, replaced) ? [] : ruleSet({ namespace, rule, replaced });
  });
  return rule;
}

/** The events that create a rule, or replace one. */
export function ruleSet({ namespace, rule, replaced }: { namespace: string; rule: Rule; replaced?: Rule }): LogEvent[] {
  const value: RuleCreated = { namespace, rule, replaced };
  const created: LogEvent = rule.disabled ? { $case: "disabledRuleCreated", value } : { $case: "ruleCreated", value };
  if (replaced === undefined) return [created];
  return [{ $case: "ruleDeleted", value: { namespace, id: rule.id, replaced: true } }, created];
}

function isSame(one: Rule, other: Rule): boolean {
  return Rule.encode(one).finish().equals(Rule.encode(other).finish());
}

/** @throws {StatusError} NOT_FOUND */
function presentOf(state: State, namespace: string, id: string): Rule {
  const present = rulesOf(state, namespace).get(id);
  if (present === undefined) throw unknown(id);
  return present;
}

async function explain(
  { changes, uses }: Pick<Options, "changes" | "uses">,
  asked: ExplainRequest,
  context: Context,
): Promise<ExplainResponse> {
  const own = accountOf(context);
  const { namespace } = own;
  const resource = checkLiteral("resource", asked.resource);
  if (isSelfGoverned(resource)) {
    throw invalidArgument(`resource: rules do not govern ${resource.name}, whose endpoints declare who may call them`);
  }
  await changes.sync();
  const share = shareOfRules(changes.state, own);
  share.checkResource("resource", resource, asked.resource);
  const request = share.isAll ? asked : ofOwnKeys(asked, own);
  const ended = endedKey(changes, request, namespace) ?? disabledAccount(changes.state, request, namespace);
  if (ended !== undefined) return ended;
  const { key, account, caller, agent } = await callerOf(changes, request, namespace);
  const rules = [...rulesOf(changes.state, namespace).values()];
  const { decision: byRules, decidedBy, matched } = explainFor(RuleSet.compile(rules), resource, caller);
  const decision = withinLimits(byRules, resource, caller, agent?.mcpOnly);
  const limited = decision === "limited";
  const code = codeOf(decision);
  const chain = chainOfDecision({ account, key, agent, limited, code, decidedBy });
  const disabled = disabledFor(rules, resource, caller?.scopes);
  const who = { namespace, account, key: key?.prefix ?? "", network: "", scopes: caller?.scopes };
  const limits = await limitsFor({ state: changes.state, uses }, who, resource);
  return { code, decidedBy, matched, key: key && shown(changes.state, key), limited, chain, disabled, limits };
}

/**
 * Who administers only some resources sees keys and grants of its own account.
 * @throws {StatusError} PERMISSION_DENIED
 */
function ofOwnKeys(request: ExplainRequest, { account }: KnownCaller): ExplainRequest {
  if (request.key === "" && (request.grant ?? "") === "") return request;
  if (request.account === "" || request.account === account) return { ...request, account };
  throw permissionDenied(`account: ${account} administers only some resources, and sees only its own keys and grants`);
}

/** The explanation of a call with a key that has ended; undefined where the request names none. */
function endedKey(
  { state, now }: Changes,
  { account, key: prefix }: ExplainRequest,
  namespace: string,
): ExplainResponse | undefined {
  const key = prefix === "" ? undefined : endedKeyWithPrefix(state, { namespace, prefix }, now);
  if (key === undefined || (account !== "" && key.account !== account)) return undefined;
  return { ...NOTHING, chain: chainOfEnded(key) };
}

const NOTHING = {
  code: 401,
  decidedBy: undefined,
  matched: [],
  key: undefined,
  limited: false,
  disabled: [],
  limits: [],
};

/** The explanation for a disabled account; undefined for all other requests. */
function disabledAccount(
  state: State,
  { account: name, key }: ExplainRequest,
  namespace: string,
): ExplainResponse | undefined {
  if (key !== "" || !state.account(namespace, name)?.disabled) return undefined;
  const token = `${name} is disabled: it has no token, and its keys are refused`;
  return { ...NOTHING, chain: chainOf("token", { token }, []) };
}

/** The disabled rules that would match, in the order of evaluation. */
function disabledFor(rules: readonly Rule[], resource: Resource, scopes: readonly string[] | undefined): Rule[] {
  const enabled = rules.filter(({ disabled }) => disabled).map((rule) => ({ ...rule, disabled: false }));
  const { matched } = RuleSet.compile(enabled).explain(resource, scopes);
  return matched.map((rule) => ({ ...rule, disabled: true }));
}

interface ExplainedCaller {
  readonly key?: StoredKey;
  readonly account: string;
  readonly caller: Pick<Caller, "scopes" | "resources"> | undefined;
  /** Where an agent calls for the account. */
  readonly agent?: ExplainedAgent;
}

/**
 * The caller whose call is explained; undefined for a call without a token.
 * @throws {StatusError} NOT_FOUND, INVALID_ARGUMENT
 */
async function callerOf(
  changes: Changes,
  { account: name, key: named, grant = "" }: ExplainRequest,
  namespace: string,
): Promise<ExplainedCaller> {
  if (grant !== "" && named !== "")
    throw invalidArgument("grant: is another caller than the key; ask for one of the two");
  if (grant !== "") return agentOf(changes.state, { namespace, account: name, grant });
  const account = changes.state.account(namespace, name);
  if (name !== "" && account === undefined) throw notFound(`no account with the name ${name}`);
  if (named === "") return { account: name, caller: account && { scopes: account.scopes, resources: [] } };
  const key = await findByPrefixOrName(changes, { namespace, account: name }, named);
  // The same caller that the guard gets for the key.
  const caller = changes.state.callerOf(key.sha256, changes.now);
  if (caller === undefined)
    throw notFound(`the key ${key.prefix} was revoked, has expired, or its account is disabled`);
  return { key, account: key.account, caller };
}

/** @throws {StatusError} NOT_FOUND */
function agentOf(state: State, asked: { namespace: string; account: string; grant: string }): ExplainedCaller {
  const found = state.oauth.grant(asked.grant);
  const owner = found && state.account(found.namespace, found.account);
  const isAsked = found?.namespace === asked.namespace && [found.account, ""].includes(asked.account);
  if (found === undefined || owner === undefined || owner.disabled || !isAsked) {
    throw notFound(`no grant with the ID ${asked.grant}`);
  }
  const { account, clientId, resources } = found;
  const scope = agentScopeOf(clientId);
  const limits = scopesOf(resources);
  const agent = { scope, resources: limits, mcpOnly: isMcpOnly(resources) };
  return { account, caller: { scopes: [...owner.scopes, scope], resources }, agent };
}

async function preview(
  changes: Changes,
  { change, resources }: PreviewRequest,
  context: Context,
): Promise<PreviewResponse> {
  const caller = accountOf(context);
  const { namespace } = caller;
  if (change === undefined) throw invalidArgument("change: is missing: create, set or delete");
  checkResources(resources);
  await changes.sync();
  const present = rulesOf(changes.state, namespace);
  if (change.$case === "create" && present.has(change.value.id)) throw taken(change.value.id);
  const id = change.$case === "delete" ? change.value : change.value.id;
  const removed = change.$case === "create" ? undefined : presentOf(changes.state, namespace, id);
  const added = change.$case === "delete" ? undefined : checkedRule(change.value, change.$case);
  const share = shareOfRules(changes.state, caller);
  if (added === undefined) share.checkRuleDeleted(removed!);
  else share.checkRule(added, removed);
  const effects = await previewOf({
    rules: [...present.values()],
    removed: removed === undefined ? [] : [removed],
    added: added === undefined ? [] : [added],
    resources,
    accounts: changes.state.accounts(namespace).filter(({ disabled }) => !disabled),
    signal: context.signal,
  });
  return { effects };
}

function rulesOf(state: State, namespace: string): NamespaceState["rules"] {
  return state.namespaces.get(namespace)?.rules ?? new Map();
}

/** The rules of a namespace that a caller sees, by descending priority and then by ID. */
function listOf(state: State, caller: KnownCaller): PageItems<Rule> {
  const share = shareOfRules(state, caller);
  const rules = [...rulesOf(state, caller.namespace).values()].filter((rule) => share.sees(rule));
  return {
    after(position) {
      const following = position && rules.filter((rule) => comparePositions(positionOf(rule), position) > 0);
      return (following ?? rules).sort((a, b) => comparePositions(positionOf(a), positionOf(b)));
    },
    positionOf,
    bytesOf: (rule) => Rule.encode(rule).finish().length,
  };
}

function positionOf({ priority, id }: Rule): readonly string[] {
  return [`${priority}`, id];
}

function comparePositions([priorityA, idA = ""]: readonly string[], [priorityB, idB = ""]: readonly string[]): number {
  return Number(priorityB) - Number(priorityA) || (idA < idB ? -1 : idA > idB ? 1 : 0);
}

/** The order in which rules are looked at, and listed. */
export function compareRules(a: Rule, b: Rule): number {
  return comparePositions(positionOf(a), positionOf(b));
}

/** @throws {StatusError} INVALID_ARGUMENT naming the resource */
export function checkResources(resources: readonly string[]): void {
  if (resources.length > MAX_RESOURCES) throw invalidArgument(`resources: must be at most ${MAX_RESOURCES}`);
  for (const [index, resource] of resources.entries()) checkLiteral(`resources[${index}]`, resource);
}

/** @param field the name of the rule's field in the request */
export function checkedRule(rule: Rule | undefined, field = "rule"): Rule {
  return checkMessage(field, rule, checkRule);
}

function taken(id: string): StatusError {
  return alreadyExists(`a rule with the ID ${id} exists already`);
}

function unknown(id: string): StatusError {
  return notFound(`no rule with the ID ${id}`);
}
