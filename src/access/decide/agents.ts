/**
 * Decisions on the calls of agents. A token of a grant has the scopes of the person who consented,
 * and `agent:<host>`. The rules must grant its calls with all of them, and with the person's alone:
 * a public client proves to nobody which program it is, so the name of an agent only takes away.
 */
import type { Decision } from "../../call/admission.js";
import type { Caller } from "../../call/caller.js";
import type { Resource } from "../../contract/resource.js";
import { KnownCaller, personIn } from "../callers/known-caller.js";
import type { Explanation, Rule, RuleSet } from "./rules.js";

type Scoped = Pick<Caller, "scopes"> | undefined;

/** The decision of the rules on a caller; undefined for a call without a token. */
export function decideFor(rules: RuleSet, resource: Resource, caller: Scoped): Decision {
  const decision = rules.decide(resource, caller?.scopes);
  if (decision !== "granted" || caller === undefined) return decision;
  const person = personOf(caller);
  return person === undefined ? decision : rules.decide(resource, person);
}

/** The rule that decides, as `RuleSet.decisive`. */
export function decisiveFor(rules: RuleSet, resource: Resource, caller: Scoped): Rule | undefined {
  return rules.decisive(resource, decidingScopes(rules, resource, caller));
}

/** The decision and its reasons, as `RuleSet.explain`. */
export function explainFor(rules: RuleSet, resource: Resource, caller: Scoped): Explanation {
  return rules.explain(resource, decidingScopes(rules, resource, caller));
}

/** The scopes with which the call is decided: the person's where those refuse it. */
function decidingScopes(rules: RuleSet, resource: Resource, caller: Scoped): readonly string[] | undefined {
  const person = caller && personOf(caller);
  if (person === undefined || rules.decide(resource, caller?.scopes) !== "granted") return caller?.scopes;
  return rules.decide(resource, person) === "granted" ? caller?.scopes : person;
}

/** The scopes of the person for whom an agent calls; undefined for other callers. */
function personOf(caller: NonNullable<Scoped>): readonly string[] | undefined {
  return caller instanceof KnownCaller ? caller.person : personIn(caller.scopes);
}
