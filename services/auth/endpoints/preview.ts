/**
 * Previews a change to the rules: for which callers and resources the status of a call would
 * change. Both decisions come from `RuleSet`, as at every gateway. A rule affects only resources
 * that its pattern covers and callers that have its scope, so only these are decided. Only scopes
 * that rules name count: all accounts with the same ones are one kind of caller.
 */
import { setImmediate as turn } from "node:timers/promises";
import { decideFor } from "../../../src/access/decide/agents.js";
import { type Rule, RuleSet } from "../../../src/access/decide/rules.js";
import type { AuthorizationResult } from "../../../src/call/admission.js";
import { SELF_GOVERNED } from "../../../src/contract/names.js";
import { matches, parsePattern, type Resource } from "../../../src/contract/resource.js";
import { isAgentScope, LOGGED_IN, PUBLIC } from "../../../src/contract/scope.js";
import type { Effect } from "../../../src/gen/portico/auth/v1/rules.js";

/** Number of decisions before the event loop gets a turn. */
const DECISIONS_A_TURN = 20_000;
const MAX_SHOWN_ACCOUNTS = 100;

/** A change, and the resources and accounts for which it is previewed. */
export interface PreviewOptions {
  readonly rules: readonly Rule[];
  /** The rule that the change removes, and the one that it adds. Both if it replaces a rule. */
  readonly removed?: Rule | undefined;
  readonly added?: Rule | undefined;
  /** As they are shown in the result; without wildcards. */
  readonly resources: readonly string[];
  readonly accounts: readonly { readonly name: string; readonly scopes: readonly string[] }[];
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
}

/** The HTTP status of a call with this decision. */
export function codeOf(decision: AuthorizationResult): number {
  return { granted: 200, unauthorized: 401, forbidden: 403, limited: 403 }[decision];
}

/**
 * The effects of a change, each with the callers and resources that it concerns.
 * @throws {SyntaxError} when the change adds an ID that exists already; the signal's reason once
 *   it is aborted.
 */
export async function previewOf(options: PreviewOptions): Promise<Effect[]> {
  const { rules, removed, added, resources, accounts, signal } = options;
  const before = RuleSet.compile(rules);
  const after = RuleSet.compile(rules);
  if (removed !== undefined) after.delete(removed.id);
  if (added !== undefined) after.add(added);
  // A disabled rule changes nothing.
  const changing = [removed, added].filter((rule) => rule !== undefined && !rule.disabled) as Rule[];
  const covered = coveredBy(changing, resources);
  const effects = new Effects();
  let decisions = 0;
  for (const kind of kindsOf(rules, changing, accounts)) {
    for (const { shown, resource } of covered) {
      const [was, is] = [before, after].map((set) =>
        codeOf(decideFor(set, resource, kind.scopes && { scopes: kind.scopes })),
      );
      if (was !== is) effects.add(kind, was!, is!, shown);
      if (++decisions % DECISIONS_A_TURN !== 0) continue;
      await turn();
      signal.throwIfAborted();
    }
  }
  return effects.list(accounts.length);
}

/** Whether the endpoint itself decides who may call it, independent of rules. */
export function isSelfGoverned({ type, name }: Resource): boolean {
  return type === "service" && SELF_GOVERNED.has(name);
}

/** The resources that a rule's pattern covers, except those that rules do not govern. */
function coveredBy(changing: readonly Rule[], resources: readonly string[]): { shown: string; resource: Resource }[] {
  const patterns = changing.map((rule) => parsePattern(rule.resource));
  return [...new Set(resources)]
    .map((shown) => ({ shown, resource: parsePattern(shown) }))
    .filter(({ resource }) => !isSelfGoverned(resource))
    .filter(({ resource }) => patterns.some((pattern) => matches(pattern, resource)));
}

/** Callers for whom every rule has the same result. */
interface Kind {
  /** Undefined for calls without a token. */
  readonly scopes: readonly string[] | undefined;
  readonly accounts: string[];
  /** The scope of the agent that calls for the accounts; undefined for their own calls. */
  readonly agent?: string;
}

/**
 * The kinds that the scopes of the changing rules name. The kind without scopes stands for any
 * logged-in caller.
 */
function kindsOf(rules: readonly Rule[], changing: readonly Rule[], accounts: PreviewOptions["accounts"]): Kind[] {
  const named = new Set([...rules, ...changing].map(({ scope }) => scope));
  const kinds = new Map<string, Kind>([["[]", { scopes: [], accounts: [] }]]);
  for (const { name, scopes } of accounts) {
    const relevant = [...new Set(scopes)].filter((scope) => named.has(scope)).sort();
    const key = JSON.stringify(relevant);
    const kind = kinds.get(key) ?? { scopes: relevant, accounts: [] };
    kinds.set(key, kind);
    kind.accounts.push(name);
  }
  const changed = changing.map(({ scope }) => scope);
  const ofAgents = [...new Set(changed)]
    .filter(isAgentScope)
    .flatMap((agent) =>
      [...kinds.values()].map(({ scopes = [], accounts }): Kind => ({ scopes: [...scopes, agent], accounts, agent })),
    );
  if (changed.includes(PUBLIC)) return [{ scopes: undefined, accounts: [] }, ...kinds.values(), ...ofAgents];
  const isConcerned = ({ scopes }: Kind) => changed.some((scope) => scope === LOGGED_IN || scopes?.includes(scope));
  return [...[...kinds.values()].filter(isConcerned), ...ofAgents];
}

/** Groups the kinds of callers by the change at a resource, then the resources by those groups. */
class Effects {
  /** By the two status codes and the resource. */
  readonly #changes = new Map<
    string,
    Pick<Effect, "before" | "after" | "agent"> & { resource: string; kinds: Kind[] }
  >();

  add(kind: Kind, before: number, after: number, resource: string): void {
    const { agent } = kind;
    const key = `${before} ${after} ${resource} ${agent}`;
    const change = this.#changes.get(key) ?? { before, after, resource, agent, kinds: [] };
    this.#changes.set(key, change);
    change.kinds.push(kind);
  }

  /** @param accounts the number of all accounts */
  list(accounts: number): Effect[] {
    const numbers = new Map<Kind, number>();
    const effects = new Map<string, Effect>();
    for (const { before, after, resource, agent, kinds } of this.#changes.values()) {
      for (const kind of kinds) if (!numbers.has(kind)) numbers.set(kind, numbers.size);
      const key = [before, after, ...kinds.map((kind) => numbers.get(kind))].join();
      const effect = effects.get(key) ?? { before, after, agent, resources: [], ...callersOf(kinds, accounts) };
      effects.set(key, effect);
      effect.resources.push(resource);
    }
    return [...effects.values()];
  }
}

function callersOf(kinds: readonly Kind[], all: number): Omit<Effect, "before" | "after" | "resources" | "agent"> {
  const names = kinds.flatMap(({ accounts }) => accounts).sort();
  const everyAccount = names.length === all && kinds.some(({ scopes }) => scopes?.every(isAgentScope));
  return {
    nobody: kinds.some(({ scopes }) => scopes === undefined),
    everyAccount,
    accounts: everyAccount ? [] : names.slice(0, MAX_SHOWN_ACCOUNTS),
    moreAccounts: everyAccount ? 0 : Math.max(0, names.length - MAX_SHOWN_ACCOUNTS),
  };
}
