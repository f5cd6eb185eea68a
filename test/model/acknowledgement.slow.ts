// Every change is acknowledged at some time, whatever has happened before. From each state of the
// model, steps that need no further fault, ping or stream lead to a state in which no change waits.
import t from "tap";
import { FULL } from "../support/full.js";
import { findStuck, type Goal } from "./explore.js";
import { modelOf } from "./model.js";
import { LARGE_SETTINGS, SAFEGUARDS } from "./safeguards.js";
import type { Setting } from "./setting.js";
import type { State } from "./state.js";

/**
 * The budget counts every other event, such as a fault. So a step is certain if it leaves the
 * budget unchanged.
 */
const acknowledged: Goal<State> = {
  isReached: ({ authorities }) => authorities.every(({ change }) => change === undefined),
  isCertain: (from, to) => Object.entries(from.budget).every(([kind, left]) => to.budget[kind] === left),
};

const small = SAFEGUARDS.filter(({ large }) => !large).map(({ name, setting }) => [name, setting] as const);
const settings = new Map(
  [...small, ...(FULL ? LARGE_SETTINGS : [])].map(([title, setting]) => [JSON.stringify(setting), title]),
);

for (const [text, title] of settings) {
  t.test(`${title}: a change that waits can always be acknowledged`, async (t) => {
    const stuck = findStuck(modelOf(JSON.parse(text) as Setting), acknowledged);
    t.equal(stuck, undefined, (stuck ?? []).join("\n"));
  });
}

t.test(
  "the model is stuck if an authority waits only for a guard's report, not for the end of its lease",
  async (t) => {
    const model = modelOf({ guards: 1, authorities: [1], budget: { change: 1, ping: 1, break: 1 }, store: "sqlite" });
    const patient = {
      ...model,
      steps: (state: State) => model.steps(state).filter(([label]) => label !== "a tick passes"),
    };
    const stuck = findStuck(patient, acknowledged);
    t.ok(
      stuck?.some((label) => label.endsWith("breaks")),
      "where its connection breaks before it has said so",
    );
  },
);
