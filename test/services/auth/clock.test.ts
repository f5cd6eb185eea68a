/** The authority's time, by the machine's two clocks: the one that may be set, and the one that is not. */
import pino from "pino";
import t from "tap";
import { Clock, countUptime } from "../../../services/auth/log/clock.js";
import { Code } from "../../../src/errors.js";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 22);

/** After so much time, the machine's clock is off by so much; then the authority's time is that much more than NOW. */
type Step = readonly [passed: number, off: number, time: number, changes?: "refused"];

const cases: readonly (readonly [what: string, start: { stored?: number; off?: number; accept?: true }, ...Step[]])[] =
  [
    ["follows the clock", {}, [0, 0, 0], [SECOND, 0, SECOND], [400 * DAY, 0, 400 * DAY + SECOND]],
    ["a jump forward of a day is followed", {}, [0, DAY, DAY]],
    [
      "a jump forward of more than a day is not, until the clock is right",
      {},
      [0, 2 * DAY, 0, "refused"],
      [HOUR, 2 * DAY, HOUR, "refused"],
      [HOUR, 0, 2 * HOUR],
    ],
    [
      "time goes on a tenth more slowly than the clock that was set back, until that has caught up",
      {},
      [HOUR, -2 * HOUR, 0.9 * HOUR],
      [HOUR, -2 * HOUR, 1.8 * HOUR],
      [28 * HOUR, -2 * HOUR, 28 * HOUR],
      [HOUR, -2 * HOUR, 29 * HOUR],
    ],
    [
      "a jump back of more than a day is not believed, and no time is lost by it",
      {},
      [HOUR, -2 * DAY, HOUR, "refused"],
      [HOUR, 0, 2 * HOUR],
    ],
    ["a clock that stands still while time passes is not believed either", {}, [2 * DAY, -2 * DAY, 2 * DAY, "refused"]],
    ["a start at a store that is older", { stored: -HOUR }, [0, 0, 0]],
    ["a start at a store that is older by far", { stored: -9 * DAY }, [0, 0, 0]],
    [
      "a start with a clock that was set back",
      { stored: HOUR },
      [0, 0, HOUR],
      [HOUR, 0, 1.9 * HOUR],
      [9 * HOUR, 0, 10 * HOUR],
    ],
    [
      "a start with a clock that was set back by more than a day, and is then set right",
      { stored: 0, off: -2 * DAY },
      [0, -2 * DAY, 0, "refused"],
      [HOUR, -2 * DAY, HOUR, "refused"],
      [HOUR, 0, 2 * HOUR],
    ],
    ["a start at a store of the future, accepted", { stored: 2 * DAY, accept: true }, [0, 0, 0], [SECOND, 0, SECOND]],
    ["a start at a store of the next hour, accepted", { stored: HOUR, accept: true }, [0, 0, 0]],
    ["a start at a fresh store, accepted", { accept: true }, [0, 0, 0]],
  ];

function open({ stored, off = 0, accept }: { stored?: number; off?: number; accept?: true } = {}) {
  const machine = { wall: NOW + off, elapsed: 5_000_000 };
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line).msg) });
  const clock = new Clock({ clocks: { wall: () => machine.wall, elapsed: () => machine.elapsed }, log });
  clock.start({ stored: stored === undefined ? undefined : NOW + stored, accept: accept === true });
  return { machine, clock, logged };
}

for (const [what, start, ...steps] of cases) {
  t.test(what, async (t) => {
    const { machine, clock } = open(start);
    let passed = 0;
    for (const [more, off, time, changes] of steps) {
      passed += more;
      machine.elapsed += more;
      machine.wall = NOW + passed + off;
      t.equal(Math.round(clock.now()) - NOW, time, `time after ${passed} ms`);
      if (changes === undefined) t.doesNotThrow(clock.check);
      else t.throws(clock.check, { code: Code.UNAVAILABLE, message: /Set it right; .* --accept-time/ });
    }
  });
}

t.test("a clock that is not believed is logged once, and once more when it is right again", async (t) => {
  const { machine, clock, logged } = open();
  for (const wall of [NOW - 3 * DAY, NOW - 2 * DAY, NOW, NOW + SECOND]) {
    machine.wall = wall;
    clock.now();
  }
  t.match(logged, [/It is not believed.*--accept-time/, /right again/]);
  t.equal(logged.length, 2);
});

t.test("a clock that was set back is logged once", async (t) => {
  const { machine, clock, logged } = open();
  machine.wall -= HOUR;
  for (let reading = 0; reading < 3; reading++) clock.now();
  t.match(logged, [/was set back/]);
  t.equal(logged.length, 1);
});

t.test("the time of another authority raises it by up to a day", async (t) => {
  const { clock } = open();
  clock.atLeast(NOW + 2 * DAY);
  t.equal(clock.now(), NOW);
  clock.atLeast(NOW + HOUR);
  t.equal(clock.now(), NOW + HOUR);
  clock.atLeast(NOW);
  t.equal(clock.now(), NOW + HOUR);
});

t.test("the uptime counts the time that the machine slept, however the wall clock is set", async (t) => {
  const clocks = { uptime: 500_000, wall: NOW, monotonic: 7_000 };
  let readings = 0;
  const elapsed = countUptime({
    uptime: () => {
      readings++;
      return clocks.uptime;
    },
    wall: () => clocks.wall,
    monotonic: () => clocks.monotonic,
  });
  const steps: [what: string, passed: Partial<typeof clocks>, readings: number][] = [
    ["time passes", { uptime: HOUR, wall: HOUR, monotonic: HOUR }, 1],
    ["the machine sleeps", { uptime: DAY, wall: DAY }, 2],
    ["time passes", { uptime: HOUR, wall: HOUR, monotonic: HOUR }, 2],
    ["the clock is set", { wall: -HOUR }, 3],
    ["the machine sleeps, and the clock is set back by more", { uptime: HOUR, wall: -HOUR }, 4],
    ["time passes", { uptime: SECOND, wall: SECOND, monotonic: SECOND }, 4],
  ];
  for (const [what, passed, expected] of steps) {
    for (const name of ["uptime", "wall", "monotonic"] as const) clocks[name] += passed[name] ?? 0;
    t.equal(elapsed(), clocks.uptime, what);
    t.equal(readings, expected, `${what}: readings of the uptime`);
  }
});
