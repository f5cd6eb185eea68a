/**
 * Previews a change to rules and accounts: for which callers and resources the status of a call
 * would change. Both decisions come from `RuleSet`, as at every gateway. A rule affects only
 * resources that its pattern covers and callers that have its scope, so only these are decided, and
 * everything for accounts whose scopes change. Only scopes that rules name count: all accounts with
 * the same ones are one kind of caller.
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
  /** The rules that the change removes and adds. One that it replaces is in both. */
  readonly removed: readonly Rule[];
  readonly added: readonly Rule[];
  /** As they are shown in the result; without wildcards. */
  readonly resources: readonly string[];
  readonly accounts: readonly PreviewedAccount[];
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
}

/** The scopes that callers hold. `refused`: their tokens and keys are not accepted. */
type Held = readonly string[] | "refused";

/** An account, before and after the change. */
export interface PreviewedAccount {
  readonly name: string;
  readonly scopes: Held;
  /** Default: as before. */
  readonly after?: Held;
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
  for (const { id } of removed) after.delete(id);
  for (const rule of added) after.add(rule);
  // A disabled rule changes nothing.
  const changing = [...removed, ...added].filter((rule) => !rule.disabled);
  const governed = governedOf(resources);
  const covered = coveredBy(changing, governed);
  const effects = new Effects();
  let decisions = 0;
  for (const kind of kindsOf([...rules, ...added], changing, accounts)) {
    for (const { shown, resource } of kind.isMoved ? governed : covered) {
      const was = codeFor(before, resource, kind.scopes);
      const is = codeFor(after, resource, kind.after);
      if (was !== is) effects.add(kind, was, is, shown);
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

function codeFor(rules: RuleSet, resource: Resource, held: Held | undefined): number {
  return held === "refused" ? codeOf("unauthorized") : codeOf(decideFor(rules, resource, held && { scopes: held }));
}

interface Named {
  readonly shown: string;
  readonly resource: Resource;
}

/** The resources that rules govern. */
function governedOf(resources: readonly string[]): Named[] {
  const all = [...new Set(resources)].map((shown) => ({ shown, resource: parsePattern(shown) }));
  return all.filter(({ resource }) => !isSelfGoverned(resource));
}

/** Those that the pattern of a rule covers. */
function coveredBy(changing: readonly Rule[], resources: readonly Named[]): Named[] {
  const patterns = changing.map((rule) => parsePattern(rule.resource));
  return resources.filter(({ resource }) => patterns.some((pattern) => matches(pattern, resource)));
}

/** Callers for whom every rule has the same result. */
interface Kind {
  /** Undefined for calls without a token. */
  readonly scopes: Held | undefined;
  readonly after: Held | undefined;
  /** Whether the change gives or takes scopes that rules name, or all access. */
  readonly isMoved: boolean;
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
  const relevant = (held: Held): Held =>
    held === "refused" ? held : [...new Set(held)].filter((scope) => named.has(scope)).sort();
  const kinds = new Map<string, Kind>([["[[],[]]", { scopes: [], after: [], isMoved: false, accounts: [] }]]);
  for (const { name, scopes: before, after: then = before } of accounts) {
    const [scopes, after] = [relevant(before), relevant(then)];
    const key = JSON.stringify([scopes, after]);
    const isMoved = JSON.stringify(scopes) !== JSON.stringify(after);
    const kind = kinds.get(key) ?? { scopes, after, isMoved, accounts: [] };
    kinds.set(key, kind);
    kind.accounts.push(name);
  }
  const changed = changing.map(({ scope }) => scope);
  const ofAgents = [...new Set(changed)].filter(isAgentScope).flatMap((agent) => asAgent(agent, [...kinds.values()]));
  const anonymous = { scopes: undefined, after: undefined, isMoved: false, accounts: [] };
  if (changed.includes(PUBLIC)) return [anonymous, ...kinds.values(), ...ofAgents];
  const isConcerned = ({ scopes, isMoved }: Kind) =>
    isMoved || changed.some((scope) => scope === LOGGED_IN || scopes?.includes(scope));
  return [...[...kinds.values()].filter(isConcerned), ...ofAgents];
}

/** The kinds of callers for whom the agent calls. */
function asAgent(agent: string, kinds: readonly Kind[]): Kind[] {
  const withAgent = (held: Held = []): Held => (held === "refused" ? held : [...held, agent]);
  return kinds.map((kind) => ({ ...kind, agent, scopes: withAgent(kind.scopes), after: withAgent(kind.after) }));
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
  const isOfAnyone = ({ scopes, isMoved }: Kind) =>
    !isMoved && scopes !== "refused" && scopes?.every(isAgentScope) === true;
  const everyAccount = names.length === all && kinds.some(isOfAnyone);
  return {
    nobody: kinds.some(({ scopes }) => scopes === undefined),
    everyAccount,
    accounts: everyAccount ? [] : names.slice(0, MAX_SHOWN_ACCOUNTS),
    moreAccounts: everyAccount ? 0 : Math.max(0, names.length - MAX_SHOWN_ACCOUNTS),
  };
}
