// A handler reads the deadline of its call by the wall clock, whatever time that clock shows.
import t from "tap";
import type { CallResponder, CallStart } from "../../src/rpc/channel.js";
import { EndpointContext } from "../../src/rpc/endpoint-context.js";
import { replaceClock } from "../support/clock.js";

const deadlineOf = (deadline: number) =>
  new EndpointContext("raw:Raw.One", {} as CallStart, {} as CallResponder, deadline, undefined, "").deadline;

for (const wall of [1_700_000_000_000, 1_500_000_000_000]) {
  t.test(`the deadline at ${new Date(wall).toISOString()}`, async (t) => {
    replaceClock(t, performance, () => 5_000.25);
    replaceClock(t, Date, () => wall);
    t.equal(deadlineOf(6_000), wall + 1_000, "in whole milliseconds, not before it");
    t.equal(deadlineOf(Number.POSITIVE_INFINITY), undefined);
  });
}
