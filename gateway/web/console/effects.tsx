/** A list of the callers and resources for which a change of the rules changes the answer. */
import type { Effect } from "../../../src/api/types.js";
import { Badge } from "../ui/badge.js";

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
