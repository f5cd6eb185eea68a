/** Parts of the page of refusals: the chain of checks, the reason in words, the line over time. */

import type { Link, Refused, Rule } from "../../../src/api/types.js";
import { isAgentScope } from "../../../src/contract/scope.js";
import type { list as authority } from "./authority.js";

const MARKS: Readonly<Record<string, readonly [mark: string, word: string, look: string]>> = {
  PASSED: ["✓", "passed", "passed"],
  FAILED: ["✗", "failed", "failed"],
  NOT_REACHED: ["–", "not looked at", "skipped"],
};

/** The checks of a call, in order, with the one that failed. */
export function Chain({ chain }: { readonly chain: readonly Link[] }) {
  return (
    <ol class="chain" aria-label="Checks of the call, in order">
      {chain.map(({ name, state, detail }) => {
        const [mark, word, look] = MARKS[state] ?? MARKS.NOT_REACHED!;
        return (
          <li key={name} class={look}>
            {name} <span aria-hidden="true">{mark}</span>
            <span class="hidden">{word}</span> {detail}
          </li>
        );
      })}
    </ol>
  );
}

/** @param sent the first characters of an unknown key */
export function whoOf({ account, key, reason }: Refused, sent = "") {
  if (key !== "") {
    return (
      <>
        <code>{key}</code> {account && `of ${account}`}
      </>
    );
  }
  if (account !== "") return <>{account}</>;
  if (reason === "UNKNOWN_TOKEN") return sent === "" ? <>unknown token</> : <code>{sent}</code>;
  return <>{reason === "OTHER_TOKEN" ? "other token" : "no token"}</>;
}

export function reasonOf({ reason, cause, account }: Refused): string {
  switch (reason) {
    case "NO_TOKEN":
      return "no token";
    case "UNKNOWN_TOKEN":
      return "unknown token";
    case "EXPIRED":
      return "expired";
    case "REVOKED":
      return "revoked";
    case "OTHER_TOKEN":
      return "token of another namespace or purpose";
    case "LIMIT":
      return cause === "" ? "not within what was granted" : `limit of the key ${cause}`;
    case "NO_RULE":
      return account === "" ? "no rule for calls without a token" : "no rule";
    case "RULE":
      return `rule ${cause}`;
    case "DECLARATION":
      return "the endpoint is for others";
    case "SERVICE":
      return "refused by the service";
    case "OVERLOAD":
      return "the service is overloaded";
    case "CALL_LIMIT":
      return `limit ${cause} is used up`;
    default:
      return "too many to be told apart";
  }
}

const HEIGHT = 16;

/** A small line: how many calls in each period. */
export function Spark({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(...values, 1);
  const points = values.map((value, index) => `${index},${HEIGHT - 1 - (value / most) * (HEIGHT - 2)}`).join(" ");
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${Math.max(values.length - 1, 1)} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`At most ${most.toLocaleString()} in one of ${values.length} periods`}
    >
      <polyline points={points} />
    </svg>
  );
}

const MAX_ID = 64;

/** The rule that would grant the refused calls, and as little else as one rule can. */
export async function allowingRule(
  { endpoint, account, reason, cause }: Refused,
  list: Pick<typeof authority, "rules" | "accounts">,
): Promise<Partial<Rule>> {
  const [accounts, rules] = await Promise.all([account === "" ? [] : list.accounts(), list.rules()]);
  const scopes = accounts.find(({ name }) => name === account)?.scopes ?? [];
  const denying = reason === "RULE" ? rules.find(({ id }) => id === cause) : undefined;
  return {
    id: `allow-${endpoint.replace(/[^A-Za-z0-9._-]/g, "-")}`.slice(0, MAX_ID),
    // A rule that denies an agent is overruled for that agent alone.
    scope:
      denying !== undefined && isAgentScope(denying.scope)
        ? denying.scope
        : account === ""
          ? "<public>"
          : (scopes[0] ?? "*"),
    access: "GRANTED",
    resource: `service:${endpoint}`,
    priority: denying === undefined ? 0 : denying.priority + 1,
  };
}
