/**
 * The share of a namespace's rules, limits and keys that a caller may change: all, or those for
 * the resources that it administers. It is read from the state that a change is made on, so that a
 * call that waited changes nothing once the right is taken away.
 */
import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { AdminPart, administers } from "../../../src/contract/admin-parts.js";
import {
  administeredBy,
  isScopeOn,
  isWithin,
  patternOn,
  RESERVED_PRIORITY,
} from "../../../src/contract/admin-resources.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { overlap, parsePattern, type Resource } from "../../../src/contract/resource.js";
import { permissionDenied } from "../../../src/errors.js";
import type { Key } from "../../../src/gen/portico/auth/log/v1/log.js";
import { type Limit, Per } from "../../../src/gen/portico/auth/v1/limits.js";
import type { Rule } from "../../../src/gen/portico/auth/v1/rules.js";
import type { State } from "../log/state/state.js";

type Part = AdminPart.RULES | AdminPart.KEYS;

/** The share of the rules and limits. */
export function shareOfRules(state: State, caller: KnownCaller): AdminShare {
  return new AdminShare(state, caller, AdminPart.RULES);
}

export class AdminShare {
  /** Whether it is all that the namespace has. */
  readonly isAll: boolean;
  readonly #namespace: string;
  readonly #patterns: readonly Resource[];
  /** Who it is, and its patterns, for messages. */
  readonly #words: string;

  constructor(state: State, { namespace, account, callsOnly }: KnownCaller, part: Part) {
    const { scopes = [] } = state.account(namespace, account) ?? {};
    this.isAll = administers({ scopes, callsOnly }, part);
    this.#namespace = namespace;
    this.#patterns = this.isAll ? [] : administeredBy({ scopes, callsOnly });
    const given = scopes.filter(isScopeOn).map(patternOn).join(", ");
    this.#words = `what ${account} administers: ${this.#patterns.length === 0 ? "nothing" : given}`;
  }

  get isNothing(): boolean {
    return !this.isAll && this.#patterns.length === 0;
  }

  /** Whether it has all that a pattern matches. */
  covers(pattern: Resource): boolean {
    return this.isAll || isWithin(this.#patterns, pattern);
  }

  /** Whether a rule or a limit can concern a call of the share. */
  sees({ resource }: Pick<Rule | Limit, "resource">): boolean {
    if (this.isAll) return true;
    const asked = parsePattern(resource);
    return this.#patterns.some((pattern) => overlap(pattern, asked));
  }

  hasRule(rule: Rule): boolean {
    return this.#problemOfRule(rule) === undefined;
  }

  hasLimit(limit: Limit): boolean {
    return limit.delegated === true ? this.#problemOfLimit(limit) === undefined : this.isAll;
  }

  /** Whether a key calls nothing else. Who administers all keys has each one. */
  hasKey({ resources }: Pick<Key, "resources">): boolean {
    return this.isAll || (resources.length > 0 && resources.every((text) => this.covers(parsePattern(text))));
  }

  /**
   * @param replaced the rule as it is; undefined for a new one
   * @throws {StatusError} PERMISSION_DENIED
   */
  checkRule(rule: Rule, replaced?: Rule): void {
    const before = replaced && this.#problemOfRule(replaced);
    if (before !== undefined) throw permissionDenied(`the rule ${replaced!.id} has ${before}`);
    const problem = this.#problemOfRule(rule);
    if (problem !== undefined) throw permissionDenied(`the rule ${rule.id} would have ${problem}`);
  }

  /** @throws {StatusError} PERMISSION_DENIED for a rule that the share does not have */
  checkRuleDeleted(rule: Rule): void {
    this.checkRule(rule, rule);
  }

  /**
   * The limit as it is stored.
   * @param replaced the limit as it is; undefined for a new one
   * @throws {StatusError} PERMISSION_DENIED
   */
  checkedLimit(limit: Limit, replaced?: Limit): Limit {
    if (this.isAll) return limit;
    if (replaced !== undefined) this.checkLimitDeleted(replaced);
    const problem = this.#problemOfLimit(limit);
    if (problem !== undefined) throw permissionDenied(`the limit ${limit.id} would have ${problem}`);
    return { ...limit, delegated: true };
  }

  /** @throws {StatusError} PERMISSION_DENIED for a limit that the share does not have */
  checkLimitDeleted(limit: Limit): void {
    if (this.isAll) return;
    const problem = this.#problemOfLimit(limit);
    if (problem !== undefined) throw permissionDenied(`the limit ${limit.id} has ${problem}`);
    if (limit.delegated === true) return;
    throw permissionDenied(`the limit ${limit.id} was set by who administers all limits, and only they change it`);
  }

  /** @throws {StatusError} PERMISSION_DENIED unless the share has the resource */
  checkResource(field: string, resource: Resource, text: string): void {
    if (this.covers(resource)) return;
    throw permissionDenied(`${field}: ${text} is not within ${this.#words}`);
  }

  /** @throws {StatusError} PERMISSION_DENIED for a key that can call more */
  checkKey(key: Pick<Key, "resources">): void {
    if (this.hasKey(key)) return;
    const resources = key.resources.length === 0 ? "a key that is not limited" : key.resources.join(", ");
    throw permissionDenied(`resources: ${resources} is not within ${this.#words}`);
  }

  #problemOfRule({ resource, priority }: Rule): string | undefined {
    if (this.isAll) return undefined;
    if (!this.covers(parsePattern(resource))) return this.#isOutside(resource);
    if (priority < RESERVED_PRIORITY) return undefined;
    return `the priority ${priority}, and from ${RESERVED_PRIORITY} on rules are for who administers all rules`;
  }

  /** Does not tell the resource of a rule or a limit that it does not see. */
  #isOutside(resource: string): string {
    const what = this.sees({ resource }) ? `the resource ${resource}, which is` : "a resource that is";
    return `${what} not within ${this.#words}`;
  }

  #problemOfLimit({ resource, per }: Limit): string | undefined {
    if (this.isAll) return undefined;
    if (!this.covers(parsePattern(resource))) return this.#isOutside(resource);
    const isOfOthers = per === Per.NAMESPACE && this.#namespace === DEFAULT_NAMESPACE;
    return isOfOthers ? "per namespace, and so counts calls of other namespaces too" : undefined;
  }
}
