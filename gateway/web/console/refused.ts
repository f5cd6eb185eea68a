/** Which calls of an account the rules refuse, by the authority's preview of a rule. */
import type { Effect } from "../../../src/api/types.js";
import { call } from "../session/api.js";

/** The most resources that the authority previews at once (services/auth/endpoints/rules.ts). */
const MAX_RESOURCES = 10_000;
const MAX_PRIORITY = 2 ** 31 - 1;

/**
 * The resources that the rules refuse to an account. A rule that would refuse everything to every
 * account is previewed and not created: what it would change for the account is granted now.
 * @throws {ApiError}
 */
export async function refusedTo(account: string, resources: readonly string[], signal: AbortSignal): Promise<string[]> {
  const id = `preview-${Math.random().toString(36).slice(2)}`;
  const rule = { id, scope: "*", access: "DENIED", resource: "*:*:*", priority: MAX_PRIORITY } as const;
  const granted = new Set<string>();
  for (let start = 0; start < resources.length; start += MAX_RESOURCES) {
    const part = resources.slice(start, start + MAX_RESOURCES);
    const { effects } = await call("auth/Rules/Preview", { create: rule, resources: part }, signal);
    for (const effect of effects) {
      if (!(await concerns(effect, account, signal))) continue;
      for (const resource of effect.resources) granted.add(resource);
    }
  }
  return resources.filter((resource) => !granted.has(resource));
}

/**
 * Whether an effect concerns an account. Only the first accounts are named, by name. For a later
 * one, one resource of the effect is asked for; all of them concern the same accounts.
 */
async function concerns(effect: Effect, account: string, signal: AbortSignal): Promise<boolean> {
  const { everyAccount, accounts, moreAccounts, resources } = effect;
  const last = accounts.at(-1) ?? "";
  if (everyAccount || accounts.includes(account)) return true;
  if (moreAccounts === 0 || account <= last) return false;
  const { code } = await call("auth/Rules/Explain", { account, resource: resources[0] ?? "" }, signal);
  return code === 200;
}

/** The rule that refuses a resource to an account; undefined if no rule grants it. */
export async function ruleRefusing(
  account: string,
  resource: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await call("auth/Rules/Explain", { account, resource }, signal)).decidedBy?.id;
}
