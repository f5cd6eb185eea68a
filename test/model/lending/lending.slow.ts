// The model of lending in docs/decisions/0092-lending-of-limits.md (test/model/lending/lending.ts):
// gateways that borrow the tokens of a limit admit at most burst + rate × t in any time, whatever
// is late, lost, killed or appointed. Each safeguard of the protocol is needed.
import t from "tap";
import { FULL, sampleOf } from "../../support/full.js";
import { explore } from "../explore.js";
import { lendingModel, type Safeguard, type Setting } from "./lending.js";

const MAX_STATES = 500_000;

const one: Omit<Setting, "budget"> = { gateways: 1, lenders: 1, burst: 2, loan: 1, lease: 1 };
const two = { ...one, gateways: 2, burst: 1 };

interface Case {
  readonly title: string;
  readonly setting: Setting;
  readonly needed: readonly Safeguard[];
  /** Takes more than ten seconds, and is left out of short runs. */
  readonly isLong?: true;
}

const CASES: readonly Case[] = [
  {
    title: "a gateway, a lender that is killed and starts, and streams that end",
    setting: { ...one, budget: { ask: 3, give: 1, break: 1, restart: 1 } },
    needed: [
      "a loan is at most what the bucket holds",
      "lent tokens count against the burst",
      "a loan ends at the gateway",
      "a loan counts from its request",
      "the lender's count has a margin for clocks that run at different rates",
      "a lender that starts has an empty bucket",
      "a lender that starts waits for the loans before it",
      "the bucket fills only after that wait",
      "a gateway takes no loan from a stream that has ended",
      "a lender takes no request from an older stream",
    ],
  },
  {
    title: "two gateways that borrow and return",
    setting: { ...two, budget: { ask: 2, give: 1 } },
    needed: ["a return adds at most what is counted as lent"],
  },
  {
    title: "a lender that is replaced, and appointed again",
    setting: { ...one, burst: 1, lenders: 2, budget: { ask: 2, appoint: 2 } },
    needed: ["a gateway drops the loans of other appointments", "a gateway admits only in its lease"],
  },
  {
    title: "two gateways, of which one does not know the new lender",
    setting: { ...two, lease: 2, lenders: 2, budget: { ask: 2, appoint: 1 } },
    needed: ["a lender waits until its appointment is settled"],
    isLong: true,
  },
];

for (const { title, setting, needed } of CASES.filter(({ isLong }) => FULL || !isLong)) {
  t.test(`${title}: the limit holds`, async (t) => {
    const { states, counterexample } = explore(lendingModel(setting), MAX_STATES);
    t.equal(counterexample, undefined, (counterexample?.trace ?? []).join("\n"));
    t.ok(states > 5_000, `${states} states were explored`);
  });
  for (const safeguard of sampleOf(needed, 3)) {
    t.test(`${title}: without “${safeguard}” more is admitted`, async (t) => {
      const { counterexample } = explore(lendingModel(setting, safeguard), MAX_STATES);
      t.ok(counterexample, "a counterexample is found");
      process.stderr.write(`note: without “${safeguard}”: wrong after ${counterexample?.trace.length} steps\n`);
    });
  }
}
