/**
 * The checks of a call in words, in order: token, key, limits, rules, and the service. The first
 * that fails decides.
 */

import { isAgentScope } from "../../../src/contract/scope.js";
import type { Key } from "../../../src/gen/portico/auth/v1/keys.js";
import { Reason, type Refused } from "../../../src/gen/portico/auth/v1/refusals.js";
import { type Link, LinkState, type Rule } from "../../../src/gen/portico/auth/v1/rules.js";
import { timestampMs } from "../../../src/time.js";
import type { FormerKey } from "../log/state/ended-keys.js";

const CHECKS = ["token", "key", "limits", "rules", "service"] as const;
type Check = (typeof CHECKS)[number];
type Details = { [check in Check]?: string | undefined };
/** The checks of API keys alone. */
const KEY_CHECKS: readonly Check[] = ["key", "limits"];

/** The checks with their details; those after `failed` are not reached. */
export function chainOf(failed: Check | undefined, details: Details, skipped: readonly Check[]): Link[] {
  const end = failed === undefined ? CHECKS.length : CHECKS.indexOf(failed);
  const checks = failed === "service" ? CHECKS : CHECKS.slice(0, -1);
  return checks.map((name, index) => {
    const isReached = index <= end && (name === failed || !skipped.includes(name));
    const state = !isReached ? LinkState.NOT_REACHED : name === failed ? LinkState.FAILED : LinkState.PASSED;
    return { name, state, detail: (isReached && details[name]) || "" };
  });
}

/** An agent whose call for a person is explained. */
export interface ExplainedAgent {
  readonly scope: string;
  /** What the person has consented to; empty for everything. */
  readonly resources: readonly string[];
  readonly mcpOnly: boolean;
}

interface Decided {
  /** Empty for a call without a token. */
  readonly account: string;
  readonly key: Pick<Key, "prefix" | "name" | "resources" | "from"> | undefined;
  readonly agent: ExplainedAgent | undefined;
  readonly limited: boolean;
  readonly code: number;
  readonly decidedBy: Rule | undefined;
}

/** The checks of a call as the present rules decide it. */
export function chainOfDecision({ account, key, agent, limited, code, decidedBy }: Decided): Link[] {
  const failed = limited ? "limits" : code === 200 ? undefined : "rules";
  const skipped: Check[] = [
    ...(key === undefined ? (["key"] as const) : []),
    ...(key === undefined && agent === undefined ? (["limits"] as const) : []),
    ...(account === "" ? (["token"] as const) : []),
  ];
  const limits = ((key ?? agent)?.resources.join(", ") || "none") + (agent?.mcpOnly ? " at /mcp" : "");
  const who = agent === undefined ? `the key ${key?.name}` : `${agent.scope} for ${account}`;
  const from = key === undefined || key.from.length === 0 ? "" : ` for clients at ${key.from.join(", ")} alone`;
  const rules = decidedBy === undefined ? "no rule matches" : `rule ${decidedBy.id}`;
  return chainOf(
    failed,
    {
      token: account === "" ? "none" : ofAccount(account, agent?.scope),
      key: key && `${key.prefix} (${key.name}) is valid${from}`,
      limits: limited ? `limit: ${who} may call only ${limits}` : limits,
      rules,
    },
    skipped,
  );
}

/** The checks of a call with an API key that has ended. */
export function chainOfEnded({ prefix, name, account, expires, revoked, disabled }: FormerKey): Link[] {
  const end = new Date(timestampMs(expires)).toISOString().slice(0, 16).replace("T", " ");
  const ended = revoked ? "was revoked, or its account deleted" : `expired ${end} UTC`;
  const how = disabled ? `is refused, because ${account} is disabled` : ended;
  return chainOf("key", { token: `of ${account}`, key: `${prefix} (${name}) ${how}` }, []);
}

/** The checks of a refused call. */
export function chainOfRefusal(refused: Refused): Link[] {
  const { account, cause, code } = refused;
  const agent = isAgentScope(refused.key) ? refused.key : undefined;
  const key = agent === undefined ? refused.key : "";
  const [failed, detail] = failureOf(refused, agent);
  const skipped: Check[] = key === "" && failed !== "key" ? [...KEY_CHECKS] : [];
  if (account === "" && failed !== "token" && failed !== "key") skipped.push("token");
  const named: Details = {
    token: account === "" && failed !== "token" ? "none was sent" : account === "" ? "" : ofAccount(account, agent),
    key,
  };
  if (failed === "limits" && cause !== "") named.key = `${key} (${cause})`;
  if (failed === "service" || failed === undefined) named.service = `answered ${code}`;
  return chainOf(failed, { ...named, ...(failed !== undefined && { [failed]: detail }) }, skipped);
}

/** Whose the token is, and which agent calls with it. */
function ofAccount(account: string, agent: string | undefined): string {
  return agent === undefined ? `of ${account}` : `of ${account}, for whom ${agent} calls`;
}

/** The check that failed, and why. */
function failureOf(
  { account, key, reason, cause, code }: Refused,
  agent: string | undefined,
): readonly [Check | undefined, string] {
  switch (reason) {
    case Reason.NO_TOKEN:
      return ["token", "none was sent, and this call needs one"];
    case Reason.UNKNOWN_TOKEN:
      return ["token", "unknown: mistyped, never issued here, or ended long ago"];
    case Reason.EXPIRED:
      return key === "" || agent !== undefined ? ["token", "expired"] : ["key", "expired"];
    case Reason.REVOKED:
      return ["key", "revoked, or its account was deleted"];
    case Reason.DISABLED:
      return ["key", `refused, because ${account} is disabled`];
    case Reason.OTHER_ADDRESS:
      return ["key", "refused, because it is for clients at other addresses"];
    case Reason.OTHER_TOKEN:
      return ["token", "valid, but of another namespace or not for calls"];
    case Reason.LIMIT:
      return [
        "limits",
        `limit: ${agent ?? `the key ${cause || key}`} may not call this endpoint, the rules would let it`,
      ];
    case Reason.NO_RULE:
      return ["rules", account === "" ? "no rule lets calls without a token in" : `no rule lets ${account} in`];
    case Reason.RULE:
      return ["rules", `rule ${cause} denies it`];
    case Reason.DECLARATION:
      return ["rules", "the endpoint itself declares who may call it, and it is not this account"];
    case Reason.SERVICE:
      return ["service", `the call was let in, and the service itself answered ${code}`];
    case Reason.OVERLOAD:
      return ["service", "overloaded, so the call was not sent to it"];
    case Reason.CALL_LIMIT:
      return ["service", `limit ${cause} of calls is used up, so the call was not sent to it`];
    default:
      return [undefined, ""];
  }
}
