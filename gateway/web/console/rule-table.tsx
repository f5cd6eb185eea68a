/**
 * Rules as a table, and the callers and resources for which a change of the rules changes the
 * decision.
 */
import type { Effect, Rule } from "../../../src/api/types.js";
import { Badge } from "../ui/badge.js";
import { Actions } from "../ui/button.js";
import { Pattern } from "../ui/pattern.js";
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
    { title: "Resource", cell: ({ resource }) => <Pattern text={resource} /> },
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

const MAX_RESOURCES = 8;
const MAX_ACCOUNTS = 5;

export function Effects({ effects }: { readonly effects: readonly Effect[] }) {
  return (
    <ul class="effects">
      {effects.map((effect) => (
        <li key={`${effect.before} ${effect.after} ${effect.resources[0]} ${callersOf(effect)}`}>
          <p>
            <CodeBadge code={effect.before} /> <span aria-hidden="true">→</span>
            <span class="hidden">becomes</span> <CodeBadge code={effect.after} /> for{" "}
            <strong>{callersOf(effect)}</strong> at
          </p>
          <ul>
            {effect.resources.slice(0, MAX_RESOURCES).map((resource) => (
              <li key={resource}>
                <code>{resource}</code>
              </li>
            ))}
            {effect.resources.length > MAX_RESOURCES && <li>and {effect.resources.length - MAX_RESOURCES} more</li>}
          </ul>
        </li>
      ))}
    </ul>
  );
}

export function CodeBadge({ code }: { readonly code: number }) {
  return <Badge tone={code === 200 ? "good" : "bad"}>{code === 200 ? "200 granted" : `${code} refused`}</Badge>;
}

function callersOf({ nobody, everyAccount, accounts, moreAccounts }: Effect): string {
  if (nobody && everyAccount) return "everyone";
  const known = everyAccount ? ["every account"] : accounts.slice(0, MAX_ACCOUNTS);
  const others = Math.max(0, accounts.length - MAX_ACCOUNTS) + moreAccounts;
  const more = others > 0 ? [`${others} more accounts`] : [];
  return [...(nobody ? ["calls without a token"] : []), ...known, ...more].join(", ");
}
