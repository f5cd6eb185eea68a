/** A table of rules. */
import type { Rule } from "../../../src/api/types.js";
import { Badge } from "../ui/badge.js";
import { Actions } from "../ui/button.js";
import { type Column, FilteredTable } from "../ui/table.js";

interface RuleTableProps {
  readonly caption: string;
  readonly rules: readonly Rule[];
  readonly onDelete?: (rule: Rule) => void;
}

export function RuleTable({ caption, rules, onDelete }: RuleTableProps) {
  const columns: Column<Rule>[] = [
    { title: "ID", cell: ({ id }) => id },
    { title: "Scope", cell: Scope },
    { title: "Access", cell: ({ access }) => <AccessBadge access={access} /> },
    { title: "Resource", cell: ({ resource }) => <code>{resource}</code> },
    { title: "Priority", cell: ({ priority }) => priority, numeric: true },
  ];
  if (onDelete !== undefined) {
    columns.push({
      title: "Actions",
      cell: (rule) => (
        <Actions
          actions={[{ title: "Delete", label: `Delete ${rule.id}`, kind: "danger", act: () => onDelete(rule) }]}
        />
      ),
    });
  }
  return (
    <FilteredTable
      caption={caption}
      what="rules"
      columns={columns}
      rows={rules}
      rowKey={({ id }) => id}
      text={({ id, scope, access, resource }) => [id, scope, access, resource].join(" ")}
    />
  );
}

const SCOPES: Readonly<Record<string, string>> = { "<public>": "everyone", "*": "anyone logged in" };

function Scope({ scope }: Pick<Rule, "scope">) {
  const meaning = SCOPES[scope];
  return (
    <>
      <code>{scope}</code> {meaning !== undefined && <span class="hint">{meaning}</span>}
    </>
  );
}

function AccessBadge({ access }: Pick<Rule, "access">) {
  return <Badge tone={access === "GRANTED" ? "good" : "bad"}>{access === "GRANTED" ? "Granted" : "Denied"}</Badge>;
}
