/**
 * The checks of the model: the states that a setting reaches, with all safeguards and without one.
 */
import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { tablesOf } from "../docs/markdown.js";
import { FULL } from "../support/full.js";
import { type Exploration, explore } from "./explore.js";
import { modelOf } from "./model.js";
import type { Safeguard } from "./safeguards.js";
import type { Setting } from "./setting.js";

/** A setting with more states is too large for a test. */
const MAX_STATES = 1_500_000;

/** The number of steps of each counterexample, as docs/revocation.md has them. */
export const DOCUMENTED = new Map(
  tablesOf(readFileSync("docs/revocation.md", "utf8"))
    .filter(({ header }) => header[0] === "without")
    .flatMap(({ rows }) => rows)
    .map(([name = "", , steps]) => [name.replaceAll("*", ""), steps]),
);

const checked = new Set<string>();

/**
 * Checks that no wrongful decision is reachable, and prints the number of states. Checks a setting
 * only once.
 */
export function checkHolds(t: Test, title: string, setting: Setting): void {
  const text = JSON.stringify(setting);
  if (checked.has(text)) return;
  checked.add(text);
  t.test(`${title}: no decision lacks an acknowledged change`, async (t) => {
    const { counterexample, ...counts } = explore(modelOf(setting), MAX_STATES);
    t.equal(counterexample, undefined, textOf(counterexample));
    print(`${title}: holds in ${counted(counts)}`);
  });
}

/**
 * Checks that the setting of a safeguard holds with it and fails without it. Prints the
 * counterexample.
 */
export function checkSafeguard(t: Test, safeguard: Safeguard): void {
  checkHolds(t, `with “${safeguard.name}”`, safeguard.setting);
  checkCounterexample(t, safeguard);
}

/** Checks that the setting of a safeguard fails without it. */
export function checkCounterexample(t: Test, { name, setting }: Safeguard): void {
  t.test(`without “${name}”: a decision lacks an acknowledged change`, async (t) => {
    const { counterexample, ...counts } = explore(modelOf(setting, name), MAX_STATES);
    t.ok(counterexample, "a counterexample is found");
    t.equal(`${counterexample?.trace.length}`, DOCUMENTED.get(name), "it has the steps that docs/revocation.md says");
    print(`without “${name}”: wrong after ${counterexample?.trace.length} steps, ${counts.states} states`);
    if (FULL) print(textOf(counterexample));
  });
}

function counted({ states, steps, depth }: Omit<Exploration, "counterexample">): string {
  return `${states.toLocaleString("en")} states, ${steps.toLocaleString("en")} steps, ${depth} deep`;
}

function textOf(counterexample: Exploration["counterexample"]): string {
  if (counterexample === undefined) return "nothing wrong was found";
  const { trace, error } = counterexample;
  return [...trace.map((label, index) => `${`${index + 1}`.padStart(4)}. ${label}`), `      ${error}`].join("\n");
}

/** A `note:` line, which the reporter also shows when the test passes. */
function print(text: string): void {
  process.stderr.write(`note: ${text}\n`);
}
