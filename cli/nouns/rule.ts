/** A rule as the authority sends it, and how a table shows it. */
import type { Column } from "../terminal/output.js";

export interface Rule {
  readonly id: string;
  readonly scope: string;
  readonly access: string;
  readonly resource: string;
  readonly priority: number;
}

export const RULE_COLUMNS: readonly Column<Rule>[] = [
  ["ID", (rule) => rule.id],
  ["Scope", (rule) => rule.scope],
  ["Access", (rule) => rule.access, (access) => (access === "GRANTED" ? "green" : "red")],
  ["Resource", (rule) => rule.resource],
  ["Priority", (rule) => `${rule.priority}`],
];
