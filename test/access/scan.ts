/**
 * Decides by a scan of all rules: the meaning of rules in the simplest form, but slow. The compiled
 * rules must decide the same.
 */
import { Access, type Rule } from "../../src/access/decide/rules.js";
import type { Decision } from "../../src/call/admission.js";

export function scan(
  rules: readonly Rule[],
  resource: string,
  scopes: readonly string[] | undefined,
): { decision: Decision; matched: Rule[] } {
  const matched = rules
    .filter((rule) => coversResource(rule.resource, resource) && coversCaller(rule.scope, scopes))
    .sort(
      (a, b) =>
        b.priority - a.priority ||
        Number(a.access === Access.GRANTED) - Number(b.access === Access.GRANTED) ||
        (a.id < b.id ? -1 : 1),
    );
  if (matched[0]?.access === Access.GRANTED) return { decision: "granted", matched };
  const grantedToo = matched.some((rule) => rule.access === Access.GRANTED);
  return { decision: scopes !== undefined && grantedToo ? "forbidden" : "unauthorized", matched };
}

function coversResource(pattern: string, resource: string): boolean {
  const segments = resource.toLowerCase().split(":");
  return pattern
    .toLowerCase()
    .split(":")
    .every((wanted, index) => {
      const segment = segments[index] ?? "";
      return wanted.endsWith("*") ? segment.startsWith(wanted.slice(0, -1)) : segment === wanted;
    });
}

function coversCaller(scope: string, scopes: readonly string[] | undefined): boolean {
  if (scope === "<public>") return true;
  return scopes !== undefined && (scope === "*" || scopes.includes(scope));
}
