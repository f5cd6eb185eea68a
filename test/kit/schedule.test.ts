import t from "tap";
import { schedule } from "../../src/kit/schedule.js";

const nothing = () => undefined;
const START = Date.parse("2026-11-28T14:32:10Z");

const TIMES: readonly (readonly [when: string, next: string])[] = [
  ["every 5m", "2026-11-28T14:35:00Z"],
  ["every 1h", "2026-11-28T15:00:00Z"],
  ["every 90s", "2026-11-28T14:33:00Z"],
  [" every  1d ", "2026-11-29T00:00:00Z"],
  ["*/15 * * * *", "2026-11-28T14:45:00Z"],
  ["*/30 * * * * *", "2026-11-28T14:32:30Z"],
  ["30 2 * * 1-5", "2026-11-30T02:30:00Z"],
  ["0 0 29 2 *", "2028-02-29T00:00:00Z"],
  ["@daily", "2026-11-29T00:00:00Z"],
];

for (const [when, next] of TIMES) {
  t.test(`"${when}" comes next at ${next}`, async (t) => {
    t.equal(schedule(when, nothing).next(START), Date.parse(next));
    t.ok(schedule(when, nothing).next(Date.parse(next))! > Date.parse(next), "and then later");
  });
}

for (const when of ["0 0 30 2 *", "0 0 31 4,6 *", "0 0 0 1 1 * 2020", "2020-01-01T00:00:00"]) {
  t.test(`"${when}" is refused, because it never comes`, async (t) => {
    t.throws(() => schedule(when, nothing), { name: "TypeError", message: `schedule "${when}": it never runs` });
  });
}

for (const when of [
  "",
  "every",
  "every 0s",
  "every -5m",
  "every 500d",
  "every minute",
  "61 * * * *",
  "* * *",
  "@reboot",
]) {
  t.test(`"${when}" is refused, and the error says what to write`, async (t) => {
    const message = /^schedule ".*": .*; write an interval such as `every 5m`, or a cron expression such as/;
    t.throws(() => schedule(when, nothing), { name: "TypeError", message });
  });
}
