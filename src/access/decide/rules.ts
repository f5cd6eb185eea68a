/**
 * Access rules: which caller may call which resource.
 *
 * The rules of a namespace are compiled into a tree: type → name → endpoint → scope. So the time of
 * a decision does not depend on the number of rules that do not match. Each level finds a literal
 * in a map. For the patterns that end in `*` it has one map for each length. The leaves that match
 * a resource are remembered, by the resource's object, until a rule changes (each endpoint has one
 * such object). Adding or deleting a rule changes the tree in place; nothing is compiled again. A
 * pattern with a single rule, the usual case, stores the rule itself and no leaf, to save memory.
 * Each garbage collection of the young generation visits every page of the heap, so a larger heap
 * makes every call slower (docs/performance.md, "Memory").
 *
 * Of the matching rules, the one with the highest priority decides. At equal priority DENIED beats
 * GRANTED. So a decision needs only two numbers: the highest granted and the highest denied
 * priority.
 */

import type { Decision } from "../../call/admission.js";
import { RULE_ID } from "../../contract/names.js";
import { parsePattern, printable, type Resource } from "../../contract/resource.js";
import { checkScope, LOGGED_IN, PUBLIC } from "../../contract/scope.js";
import { Access, type Rule } from "../../gen/portico/auth/v1/rules.js";

export { Access, type Rule };

/** A decision, and the rules that it was made by. */
export interface Explanation {
  readonly decision: Decision;
  /** Undefined if no rule matched. */
  readonly decidedBy: Rule | undefined;
  /** Every rule that matches the resource and the caller, in the order of evaluation. */
  readonly matched: Rule[];
}

/** An int32 on the wire. */
const MIN_PRIORITY = -(2 ** 31);
const MAX_PRIORITY = 2 ** 31 - 1;

/**
 * Checks a rule before it is created, and returns it without properties that do not belong to a
 * rule.
 * @throws {SyntaxError} with a message for the author of the rule
 */
export function checkRule({ id, scope, access, resource, priority, disabled = false }: Rule): Rule {
  if (!RULE_ID.test(id)) {
    throw new SyntaxError(
      `id "${printable(id)}" must be 1 to 64 letters, digits, . _ or -, and start with a letter or digit`,
    );
  }
  if (scope !== PUBLIC && scope !== LOGGED_IN) checkScope(scope);
  if (access !== Access.GRANTED && access !== Access.DENIED) {
    throw new SyntaxError("access must be granted or denied");
  }
  parsePattern(resource);
  if (!Number.isInteger(priority) || priority < MIN_PRIORITY || priority > MAX_PRIORITY) {
    throw new SyntaxError(`priority must be a whole number from ${MIN_PRIORITY} to ${MAX_PRIORITY}`);
  }
  return { id, scope, access, resource, priority, disabled };
}

/** The rules of one namespace. */
export class RuleSet {
  /**
   * Distinguishes the namespace from earlier and later ones of the same name; empty if it has no
   * such ID.
   */
  readonly namespaceId: string;
  readonly #byId = new Map<string, Rule>();
  readonly #types = new Level<Level<Level<Rule | Leaf>>>();
  #remembered = new WeakMap<Resource, readonly Leaf[]>();
  #remembers = false;

  constructor(namespaceId = "") {
    this.namespaceId = namespaceId;
  }

  /** @throws {SyntaxError} if a rule cannot be understood or an ID occurs twice */
  static compile(rules: Iterable<Rule>): RuleSet {
    const set = new RuleSet();
    for (const rule of rules) set.add(rule);
    return set;
  }

  get size(): number {
    return this.#byId.size;
  }

  /**
   * Adds a rule, unless it is disabled.
   * @throws {SyntaxError} if the rule cannot be understood or its ID is taken
   */
  add(rule: Rule): void {
    if (this.#byId.has(rule.id)) throw new SyntaxError(`rule "${rule.id}" is there already`);
    if (rule.access !== Access.GRANTED && rule.access !== Access.DENIED) {
      throw new SyntaxError(`rule "${rule.id}": access ${rule.access} is neither granted nor denied`);
    }
    const { type, name, endpoint } = parsePattern(rule.resource);
    if (rule.disabled) return;
    const names = this.#types.get(type) ?? new Level();
    if (names.empty) this.#types.set(type, names);
    const endpoints = names.get(name) ?? new Level();
    if (endpoints.empty) names.set(name, endpoints);
    const present = endpoints.get(endpoint);
    if (present === undefined) endpoints.set(endpoint, rule);
    else if (present instanceof Leaf) present.add(rule);
    else endpoints.set(endpoint, new Leaf([present, rule]));
    this.#byId.set(rule.id, rule);
    this.#forget();
  }

  /** @returns whether the rule existed */
  delete(id: string): boolean {
    const rule = this.#byId.get(id);
    if (rule === undefined) return false;
    const { type, name, endpoint } = parsePattern(rule.resource);
    const names = this.#types.get(type)!;
    const endpoints = names.get(name)!;
    const leaf = endpoints.get(endpoint)!;
    if (leaf instanceof Leaf) leaf.delete(rule);
    if (!(leaf instanceof Leaf) || leaf.empty) endpoints.delete(endpoint);
    if (endpoints.empty) names.delete(name);
    if (names.empty) this.#types.delete(type);
    this.#byId.delete(id);
    this.#forget();
    return true;
  }

  /**
   * @param resource what is called, in lower case, without wildcards
   * @param scopes the scopes of the caller's account; undefined for a call without a token
   */
  decide(resource: Resource, scopes: readonly string[] | undefined): Decision {
    let granted = NEVER;
    let denied = NEVER;
    for (const leaf of this.#leaves(resource)) {
      const { everyone, loggedIn } = leaf;
      granted = Math.max(granted, priorityOf(everyone.granted));
      denied = Math.max(denied, priorityOf(everyone.denied));
      if (scopes === undefined) continue;
      granted = Math.max(granted, priorityOf(loggedIn.granted));
      denied = Math.max(denied, priorityOf(loggedIn.denied));
      if (!leaf.hasScopes) continue;
      for (const scope of scopes) {
        const held = leaf.scoped(scope);
        if (held === undefined) continue;
        granted = Math.max(granted, priorityOf(held.granted));
        denied = Math.max(denied, priorityOf(held.denied));
      }
    }
    if (granted > denied) return "granted";
    return granted === NEVER || scopes === undefined ? "unauthorized" : "forbidden";
  }

  /**
   * The first rule of `explain`'s `matched`, without the others: a flood of refused calls asks for
   * it. Parameters as for `decide`.
   */
  decisive(resource: Resource, scopes: readonly string[] | undefined): Rule | undefined {
    let first: Rule | undefined;
    for (const leaf of this.#leaves(resource)) {
      first = leaf.everyone.before(first);
      if (scopes === undefined) continue;
      first = leaf.loggedIn.before(first);
      if (!leaf.hasScopes) continue;
      for (const scope of scopes) first = leaf.scoped(scope)?.before(first) ?? first;
    }
    return first;
  }

  /** Decides, and returns the reasons; parameters as for `decide`. */
  explain(resource: Resource, scopes: readonly string[] | undefined): Explanation {
    const matched = this.#leaves(resource).flatMap((leaf) => leaf.rulesFor(scopes));
    matched.sort(byEvaluationOrder);
    return { decision: this.decide(resource, scopes), decidedBy: matched[0], matched };
  }

  #forget(): void {
    if (!this.#remembers) return;
    this.#remembers = false;
    this.#remembered = new WeakMap();
  }

  #leaves(resource: Resource): readonly Leaf[] {
    const known = this.#remembered.get(resource);
    if (known !== undefined) return known;
    const leaves = this.#types
      .matching(resource.type)
      .flatMap((names) => names.matching(resource.name))
      .flatMap((endpoints) => endpoints.matching(resource.endpoint))
      .map((leaf) => (leaf instanceof Leaf ? leaf : new Leaf([leaf])));
    this.#remembers = true;
    this.#remembered.set(resource, leaves);
    return leaves;
  }
}

/** The order of evaluation: descending priority, DENIED before GRANTED, then by ID. */
function byEvaluationOrder(a: Rule, b: Rule): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.access !== b.access) return a.access === Access.DENIED ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** The patterns of one segment, each with the level or leaf that follows it. */
class Level<T> {
  readonly #literals = new Map<string, T>();
  /**
   * By length without the `*`: the pattern `*` itself has length 0. Undefined until there is one.
   */
  #prefixes: Map<number, Map<string, T>> | undefined;

  get empty(): boolean {
    return this.#literals.size === 0 && this.#prefixes === undefined;
  }

  get(pattern: string): T | undefined {
    if (!pattern.endsWith("*")) return this.#literals.get(pattern);
    return this.#prefixes?.get(pattern.length - 1)?.get(pattern.slice(0, -1));
  }

  set(pattern: string, following: T): void {
    if (!pattern.endsWith("*")) {
      this.#literals.set(pattern, following);
      return;
    }
    this.#prefixes ??= new Map();
    const sameLength = this.#prefixes.get(pattern.length - 1) ?? new Map<string, T>();
    this.#prefixes.set(pattern.length - 1, sameLength.set(pattern.slice(0, -1), following));
  }

  delete(pattern: string): void {
    if (!pattern.endsWith("*")) {
      this.#literals.delete(pattern);
      return;
    }
    const sameLength = this.#prefixes?.get(pattern.length - 1);
    sameLength?.delete(pattern.slice(0, -1));
    if (sameLength?.size === 0) this.#prefixes?.delete(pattern.length - 1);
    if (this.#prefixes?.size === 0) this.#prefixes = undefined;
  }

  /** What follows each pattern that matches the segment. */
  matching(segment: string): T[] {
    const found: T[] = [];
    const literal = this.#literals.get(segment);
    if (literal !== undefined) found.push(literal);
    for (const [length, sameLength] of this.#prefixes ?? []) {
      const prefix = length <= segment.length ? sameLength.get(segment.slice(0, length)) : undefined;
      if (prefix !== undefined) found.push(prefix);
    }
    return found;
  }
}

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * The rules of one pattern and one scope (usually a single rule), and the first rule of each
 * access in the order of evaluation.
 */
class SameScope {
  readonly scope: string;
  readonly rules: Rule[];
  granted: Rule | undefined = undefined;
  denied: Rule | undefined = undefined;

  constructor(scope: string, rules: Rule[]) {
    this.scope = scope;
    this.rules = rules;
    for (const rule of rules) this.weigh(rule);
  }

  add(rule: Rule): void {
    this.rules.push(rule);
    this.weigh(rule);
  }

  /** The first of a rule and the rules here, in the order of evaluation. */
  before(rule: Rule | undefined): Rule | undefined {
    return firstOf(this.denied, firstOf(this.granted, rule));
  }

  private weigh(rule: Rule): void {
    if (rule.access === Access.GRANTED) this.granted = firstOf(rule, this.granted);
    else this.denied = firstOf(rule, this.denied);
  }
}

function firstOf(a: Rule | undefined, b: Rule | undefined): Rule | undefined {
  if (a === undefined) return b;
  return b === undefined || byEvaluationOrder(a, b) < 0 ? a : b;
}

function priorityOf(rule: Rule | undefined): number {
  return rule === undefined ? NEVER : rule.priority;
}

const NO_RULES = new SameScope("", []);

/**
 * The rules of one pattern. Usually they have one scope, so a map is made only for further ones.
 */
class Leaf {
  everyone = NO_RULES;
  loggedIn = NO_RULES;
  /** The rules of one named scope; `others` has the rules of all further named scopes. */
  private one = NO_RULES;
  private others: Map<string, SameScope> | undefined = undefined;

  constructor(rules: readonly Rule[]) {
    for (const rule of rules) this.add(rule);
  }

  get empty(): boolean {
    return this.everyone === NO_RULES && this.loggedIn === NO_RULES && !this.hasScopes;
  }

  get hasScopes(): boolean {
    return this.one !== NO_RULES || this.others !== undefined;
  }

  scoped(scope: string): SameScope | undefined {
    if (this.one !== NO_RULES && this.one.scope === scope) return this.one;
    return this.others?.get(scope);
  }

  add(rule: Rule): void {
    const sameScope = this.get(rule.scope);
    if (sameScope === undefined) this.set(rule.scope, new SameScope(rule.scope, [rule]));
    else sameScope.add(rule);
  }

  delete(rule: Rule): void {
    const { scope } = rule;
    const left = this.get(scope)?.rules.filter((other) => other !== rule) ?? [];
    this.set(scope, left.length === 0 ? NO_RULES : new SameScope(scope, left));
  }

  /**
   * The rules that apply to a caller. The set removes duplicates, because an account may have a
   * scope twice, or a scope named `*`.
   */
  rulesFor(scopes: readonly string[] | undefined): Rule[] {
    const held = new Set(scopes === undefined ? [PUBLIC] : [PUBLIC, LOGGED_IN, ...scopes]);
    return [...held].flatMap((scope) => this.get(scope)?.rules ?? []);
  }

  private get(scope: string): SameScope | undefined {
    const found = scope === PUBLIC ? this.everyone : scope === LOGGED_IN ? this.loggedIn : this.scoped(scope);
    return found === NO_RULES ? undefined : found;
  }

  private set(scope: string, sameScope: SameScope): void {
    if (scope === PUBLIC) this.everyone = sameScope;
    else if (scope === LOGGED_IN) this.loggedIn = sameScope;
    else if (this.others?.has(scope)) this.setOther(scope, sameScope);
    else if (this.one === NO_RULES || this.one.scope === scope) this.one = sameScope;
    else this.setOther(scope, sameScope);
  }

  private setOther(scope: string, sameScope: SameScope): void {
    this.others ??= new Map();
    if (sameScope === NO_RULES) this.others.delete(scope);
    else this.others.set(scope, sameScope);
    if (this.others.size === 0) this.others = undefined;
  }
}
