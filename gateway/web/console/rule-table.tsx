/**
 * Rules as a table, and the callers and resources for which a change of the rules changes the
 * decision.
 */
import { type EffectSum, sumsOf } from "../../../src/api/preview.js";
import type { Effect, Rule } from "../../../src/api/types.js";
import { Badge } from "../ui/badge.js";
import type { Column } from "../ui/table.js";
import { VirtualTable } from "../ui/virtual-table.js";

export const RULE_COLUMNS: readonly Column<Rule>[] = [
  { title: "ID", cell: ({ id }) => <span title={id}>{id}</span> },
  { title: "Scope", cell: Scope },
  { title: "Access", cell: (rule) => <AccessBadge {...rule} /> },
  { title: "Resource", cell: ({ resource }) => <code title={resource}>{resource}</code> },
  { title: "Priority", cell: ({ priority }) => priority, numeric: true },
];

/** Rules that can only be read. */
export function RuleTable({ caption, rules }: { readonly caption: string; readonly rules: readonly Rule[] }) {
  return <VirtualTable caption={caption} columns={RULE_COLUMNS} rows={rules} rowKey={({ id }) => id} />;
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

function AccessBadge({ access, disabled }: Pick<Rule, "access" | "disabled">) {
  if (disabled) return <Badge title="It decides nothing">{access === "GRANTED" ? "Granted" : "Denied"}, off</Badge>;
  return <Badge tone={access === "GRANTED" ? "good" : "bad"}>{access === "GRANTED" ? "Granted" : "Denied"}</Badge>;
}

const MAX_RESOURCES = 8;
const MAX_ACCOUNTS = 5;

export function Effects({ effects }: { readonly effects: readonly Effect[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard too
    <ul class="effects" tabIndex={0} aria-label="Calls that are answered differently">
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

/** The effects in numbers: "13 accounts lose 779 endpoints". */
export function EffectSums({ effects }: { readonly effects: readonly Effect[] }) {
  return (
    <div role="status" class={effects.length === 0 ? "notice" : "notice warning"}>
      {effects.length === 0 && (
        <p>Nobody will notice: at every endpoint that is registered now, calls are answered as before.</p>
      )}
      {sumsOf(effects).map((sum) => (
        <p key={`${sum.change} ${sum.agent}`}>
          <strong>{sentenceOf(sum)}</strong>
        </p>
      ))}
    </div>
  );
}

function sentenceOf({ change, agent, nobody, everyAccount, accounts, atLeast, endpoints }: EffectSum): string {
  const counted = everyAccount ? "every account" : count(accounts, "account");
  const known = [...(nobody ? ["calls without a token"] : []), ...(everyAccount || accounts > 0 ? [counted] : [])];
  const who = nobody && everyAccount ? "everyone" : known.join(" and ");
  const one = !nobody && (everyAccount || accounts === 1);
  const verbs = nobody && everyAccount ? VERBS[change][0] : VERBS[change][one ? 0 : 1];
  if (agent !== undefined) {
    return `Calling for ${atLeast ? "at least " : ""}${who}, ${agent} ${VERBS[change][0]} ${count(endpoints, "endpoint")}`;
  }
  const text = `${atLeast ? "at least " : ""}${who} ${verbs} ${count(endpoints, "endpoint")}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const VERBS: Readonly<Record<EffectSum["change"], readonly [one: string, several: string]>> = {
  lose: ["loses", "lose"],
  gain: ["gains", "gain"],
  "refused otherwise": ["gets another refusal at", "get another refusal at"],
};

function count(number: number, what: string): string {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}

export function CodeBadge({ code }: { readonly code: number }) {
  return <Badge tone={code === 200 ? "good" : "bad"}>{code === 200 ? "200 granted" : `${code} refused`}</Badge>;
}

function callersOf({ agent, ...effect }: Effect): string {
  return agent === undefined ? accountsOf(effect) : `${agent} for ${accountsOf(effect)}`;
}

function accountsOf({ nobody, everyAccount, accounts, moreAccounts }: Omit<Effect, "agent">): string {
  if (nobody && everyAccount) return "everyone";
  const known = everyAccount ? ["every account"] : accounts.slice(0, MAX_ACCOUNTS);
  const others = Math.max(0, accounts.length - MAX_ACCOUNTS) + moreAccounts;
  const more = others > 0 ? [`${others} more accounts`] : [];
  return [...(nobody ? ["calls without a token"] : []), ...known, ...more].join(", ");
}
