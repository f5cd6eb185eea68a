// At steady overload, almost all of the rate is granted, however demand is spread over guards, and
// never more than burst + rate × t. Real guards and a real authority, in one process.
import t from "tap";
import type { OpenGuard } from "../../src/access/guard.js";
import { sampleOf } from "../support/full.js";
import { excess } from "./bound.js";
import { callOnce, isRefused, type Limited, openLimited } from "./guards.js";

interface Case {
  readonly name: string;
  readonly rate: string;
  readonly perSecond: number;
  readonly burst: number;
  /** Calls a second at each guard. */
  readonly demand: readonly number[];
  readonly seconds: number;
}

const CASES: readonly Case[] = [
  { name: "one guard", rate: "100/s", perSecond: 100, burst: 100, demand: [300], seconds: 5 },
  { name: "three guards, even", rate: "100/s", perSecond: 100, burst: 100, demand: [100, 100, 100], seconds: 5 },
  { name: "three guards, 90 % at one", rate: "100/s", perSecond: 100, burst: 100, demand: [270, 15, 15], seconds: 5 },
  { name: "eight guards, even", rate: "200/s", perSecond: 200, burst: 200, demand: Array(8).fill(60), seconds: 5 },
  {
    name: "eight guards, 90 % at one",
    rate: "200/s",
    perSecond: 200,
    burst: 200,
    demand: [540, ...Array(7).fill(9)],
    seconds: 5,
  },
];

/** Calls at each guard for a time, and returns when calls were granted, in milliseconds. */
async function load(guards: readonly OpenGuard[], { demand, seconds }: Case): Promise<number[][]> {
  const start = performance.now();
  const end = start + seconds * 1_000;
  return Promise.all(
    guards.map(async (guard, index) => {
      const granted: number[] = [];
      const open: Promise<void>[] = [];
      for (let sent = 0; performance.now() < end; ) {
        const due = ((performance.now() - start) / 1_000) * demand[index]!;
        for (; sent < due; sent++) {
          open.push(callOnce(guard).then((outcome) => void (isRefused(outcome) || granted.push(performance.now()))));
        }
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      await Promise.all(open);
      return granted;
    }),
  );
}

for (const one of sampleOf(CASES, 3)) {
  t.test(one.name, async (t) => {
    const limited: Limited = await openLimited(t);
    const guards = await Promise.all(one.demand.map(() => limited.guard()));
    await limited.create({ id: "shared", rate: one.rate, burst: BigInt(one.burst) });
    const granted = await load(guards, one);
    const all = granted.flat().sort((a, b) => a - b);
    const possible = one.burst + one.perSecond * one.seconds;
    t.comment(`granted ${all.length} of ${possible}, by guard ${granted.map(({ length }) => length)}`);
    // A call is granted here a moment after the guard has counted it, so times may lie closer.
    t.ok(excess(all, one) <= one.perSecond * 0.05 + 1, `${excess(all, one)} beyond the bound`);
    t.ok(all.length >= 0.95 * possible, `${all.length} of ${possible}`);
    t.ok(all.length <= possible + one.perSecond * 0.05);
  });
}
