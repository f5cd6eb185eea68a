/**
 * How a guard gets to know the caller of a token: src/access/callers/caller-cache.ts. It asks the
 * authority that it follows.
 */
import { fold } from "./authority.js";
import type { Steps } from "./setting.js";
import type { Guard, History } from "./state.js";

const IS_CURRENT = "a caller that was looked up counts if no change came after it";
const IS_FOLLOWED = "a guard asks the authority that it follows for callers";
const IS_FORGOTTEN = "a change is applied to the callers that the guard has cached";

/**
 * @param readings the histories that a read of the log by an authority may return
 * @param followed the authority that the guard follows
 */
export function lookUpCaller(
  steps: Steps,
  index: number,
  readings: (authority: number) => (readonly [how: string, log: History])[],
  followed: number | undefined,
): void {
  const { state } = steps;
  const { asked, caller, has } = state.guards[index] as Guard;
  if (asked !== undefined) {
    // CallerCache.#ask: an older response is dropped, and the authority asked again.
    const counts = asked.length >= has.length || !steps.has(IS_CURRENT);
    steps.add(`guard ${index} ${counts ? "caches" : "does not use"} the caller of a token`, (next) => {
      Object.assign(next.guards[index] as Guard, { asked: undefined, caller: counts ? asked : undefined });
    });
    return;
  }
  if (caller !== undefined) return;
  for (const [number, { up, change }] of state.authorities.entries()) {
    if (!up || change?.entry === "") continue;
    if (number !== followed && steps.has(IS_FOLLOWED)) continue;
    // `batchResolve` of policy.ts. The response is under way until the guard's next step.
    for (const [how, log] of readings(number)) {
      steps.event("lookup", `authority ${number} reads the log ${how}, and tells guard ${index} a caller`, (next) => {
        fold(next, number, log);
        Object.assign(next.guards[index] as Guard, { asked: next.authorities[number]?.folded });
      });
    }
  }
}

/** CallerCache.change and forgetAll. */
export function forgetCaller(steps: Steps, guard: Guard): void {
  if (steps.has(IS_FORGOTTEN)) guard.caller = undefined;
}

/**
 * A stream has ended, or a snapshot is applied: Policy.#setSource. Not a safeguard to remove here:
 * a setting that needs it has too many states. test/access/lookup-source.test.ts removes it.
 */
export function dropResponse(guard: Guard): void {
  guard.asked = undefined;
}
