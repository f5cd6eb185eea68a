/** Rules as the tables have them: `scope access resource [priority]`. */
import { Access, type Rule } from "../../src/access/decide/rules.js";

const ACCESS: Record<string, Access> = { granted: Access.GRANTED, denied: Access.DENIED };

export function readRule(text: string, id: string): Rule {
  const [scope = "", access = "", resource = "", priority = "0"] = text.split(" ");
  return {
    id,
    scope,
    access: ACCESS[access] ?? Access.ACCESS_UNSPECIFIED,
    resource,
    priority: Number(priority),
    disabled: false,
  };
}

/** The rules of a row by namespace, with the IDs r1, r2 … in their order. */
export function readRules(texts: readonly string[]): Map<string, Rule[]> {
  const rules = new Map<string, Rule[]>();
  for (const [index, text] of texts.entries()) {
    const [, namespace = "default", rest = ""] = /^(?:(\w+)\/)?(.*)$/.exec(text) ?? [];
    rules.set(namespace, [...(rules.get(namespace) ?? []), readRule(rest, `r${index + 1}`)]);
  }
  return rules;
}
