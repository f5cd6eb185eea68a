/**
 * The model of leases, lease records and acknowledgements, assembled for a setting. Labels of steps
 * and names of safeguards call a lease record a "claim".
 */
import { createHash } from "node:crypto";
import { authoritySteps, type ClaimRules } from "./authority.js";
import type { Model } from "./explore.js";
import { guardSteps, openAt, wrongful } from "./guard.js";
import { type Setting, Steps } from "./setting.js";
import { failOver, sharedLeaseRecords } from "./shared-lease-records.js";
import { sqliteLeaseRecords } from "./sqlite-lease-records.js";
import { type State, tick } from "./state.js";

const CLAIMS: Record<Setting["store"], ClaimRules> = { sqlite: sqliteLeaseRecords, postgres: sharedLeaseRecords };

/**
 * The model of a setting.
 * @param without the name of a safeguard that is removed
 */
export function modelOf(setting: Setting, without?: string): Model<State> {
  const claims = CLAIMS[setting.store];
  const has = (safeguard: string): boolean => safeguard !== without;
  return {
    initial: initialState(setting),
    steps(state) {
      const steps = new Steps(state, setting, without);
      guardSteps(steps, (authority) => claims.readings(state, authority, steps));
      authoritySteps(steps, claims);
      failOver(steps);
      const later = tick(state);
      if (later !== undefined) steps.found.push(["a tick passes", later]);
      return steps.found;
    },
    // A hash, because the JSON itself would take about 700 bytes for each of a million states.
    key: (state) => createHash("sha1").update(JSON.stringify(state)).digest("binary"),
    error: (state) => wrongful(state, has),
  };
}

/** Every authority runs, and each guard has a stream to one of them. */
function initialState({ guards, authorities, budget }: Setting): State {
  const state: State = {
    store: { log: "", rows: {} },
    demoted: undefined,
    authorities: authorities.map((lease) => ({
      ...{ up: true, lease, folded: "", since: 0, own: "", change: undefined, known: {}, values: {}, fenced: false },
    })),
    guards: Array.from({ length: guards }, () => ({
      has: "",
      lease: -1,
      open: undefined,
      lookup: false,
      asked: undefined,
      caller: undefined,
    })),
    streams: [],
    acknowledged: "",
    claims: 0,
    budget: { ...budget },
  };
  for (let guard = 0; guard < guards; guard++) {
    const number = guard % authorities.length;
    openAt(state, guard, number, authorities[number] ?? 1, true);
  }
  return state;
}
