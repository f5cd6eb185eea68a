// When a call must have ended, as its handler reads it: by the wall clock, whatever that shows.
import t from "tap";
import { type Environment, ServiceCall } from "../../src/kit/service-call.js";
import type { Context } from "../../src/rpc/service.js";
import { replaceClock } from "../support/clock.js";

const deadlineOf = (deadline: number | undefined) =>
  new ServiceCall({ deadline } as Context, {} as Environment).deadline;

for (const wall of [1_700_000_000_000, 1_500_000_000_000]) {
  t.test(`at ${new Date(wall).toISOString()}`, async (t) => {
    replaceClock(t, performance, () => 5_000.25);
    replaceClock(t, Date, () => wall);
    t.equal(deadlineOf(6_000), wall + 1_000, "in whole milliseconds, not before it");
    t.equal(deadlineOf(undefined), undefined);
  });
}
