/** Previews a change of the rules for any number of resources, and sums up its effects. */
import type { Effect } from "./types.js";

/** The most resources that one request to `auth/Rules/Preview` may have. */
const MAX_RESOURCES = 10_000;

/**
 * Asks in portions for the effects of a change. Asks once if there are no resources, because the
 * authority also checks the change.
 * @param ask returns the effects on some resources
 */
export async function previewAll(
  ask: (resources: string[]) => Promise<readonly Effect[]>,
  resources: readonly string[],
): Promise<Effect[]> {
  const effects = new Map<string, Effect>();
  for (let at = 0; at === 0 || at < resources.length; at += MAX_RESOURCES) {
    for (const effect of await ask(resources.slice(at, at + MAX_RESOURCES))) {
      const { resources: some, ...others } = effect;
      const key = JSON.stringify(others);
      effects.set(key, { ...others, resources: [...(effects.get(key)?.resources ?? []), ...some] });
    }
  }
  return [...effects.values()];
}

/** Some callers, and the endpoints at which their decisions change in the same direction. */
export interface EffectSum {
  readonly change: "lose" | "gain" | "refused otherwise";
  /** The agent that calls for the accounts; undefined for their own calls. */
  readonly agent: string | undefined;
  /** Whether calls without a token are among the callers. */
  readonly nobody: boolean;
  readonly everyAccount: boolean;
  /** How many accounts; 0 if every account is among them. */
  readonly accounts: number;
  /** Whether there may be more accounts: an effect names only the first 100. */
  readonly atLeast: boolean;
  readonly endpoints: number;
}

/** The effects in numbers: first who loses access, then who gains it. */
export function sumsOf(effects: readonly Effect[]): EffectSum[] {
  const agents = [...new Set(effects.map(({ agent }) => agent))];
  return (["lose", "gain", "refused otherwise"] as const).flatMap((change) =>
    agents.flatMap((agent) => {
      const these = effects.filter((effect) => changeOf(effect) === change && effect.agent === agent);
      return these.length === 0 ? [] : [{ change, agent, ...countsOf(these) }];
    }),
  );
}

function changeOf({ before, after }: Effect): EffectSum["change"] {
  return after === 200 ? "gain" : before === 200 ? "lose" : "refused otherwise";
}

function countsOf(effects: readonly Effect[]): Omit<EffectSum, "change" | "agent"> {
  const named = new Set(effects.flatMap(({ accounts }) => accounts)).size;
  const largest = Math.max(...effects.map(({ accounts, moreAccounts }) => accounts.length + moreAccounts));
  return {
    nobody: effects.some(({ nobody }) => nobody),
    everyAccount: effects.some(({ everyAccount }) => everyAccount),
    accounts: Math.max(named, largest),
    atLeast: effects.length > 1 && effects.some(({ moreAccounts }) => moreAccounts > 0),
    endpoints: new Set(effects.flatMap(({ resources }) => resources)).size,
  };
}
