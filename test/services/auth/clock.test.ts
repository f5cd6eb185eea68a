/** The authority's time, with a machine's two clocks: one may be set, the other one never. */
import pino from "pino";
import t from "tap";
import { AuthorityClock, countUptime } from "../../../services/auth/log/time/clock.js";
import { Code } from "../../../src/errors.js";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 22);

/**
 * After `passed` ms, the machine's clock is wrong by `off`; the authority's time is NOW + `time`.
 */
type Step = readonly [passed: number, off: number, time: number, changes?: "refused"];

const cases: readonly (readonly [what: string, start: { stored?: number; off?: number; accept?: true }, ...Step[]])[] =
  [
    ["follows the clock", {}, [0, 0, 0], [SECOND, 0, SECOND], [400 * DAY, 0, 400 * DAY + SECOND]],
    ["follows a jump forward of a day", {}, [0, DAY, DAY]],
    [
      "does not follow a jump forward of more than a day, until the clock is right",
      {},
      [0, 2 * DAY, 0, "refused"],
      [HOUR, 2 * DAY, HOUR, "refused"],
      [HOUR, 0, 2 * HOUR],
    ],
    [
      "runs 10% slower than a clock that was set back, until the clock has caught up",
      {},
      [HOUR, -2 * HOUR, 0.9 * HOUR],
      [HOUR, -2 * HOUR, 1.8 * HOUR],
      [28 * HOUR, -2 * HOUR, 28 * HOUR],
      [HOUR, -2 * HOUR, 29 * HOUR],
    ],
    [
      "does not trust a jump back of more than a day, and loses no time",
      {},
      [HOUR, -2 * DAY, HOUR, "refused"],
      [HOUR, 0, 2 * HOUR],
    ],
    ["does not trust a clock that stands still while time passes", {}, [2 * DAY, -2 * DAY, 2 * DAY, "refused"]],
    ["a start at a store that is older", { stored: -HOUR }, [0, 0, 0]],
    ["a start at a store that is much older", { stored: -9 * DAY }, [0, 0, 0]],
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
    [
      "a start at a store of the future, with the clock accepted",
      { stored: 2 * DAY, accept: true },
      [0, 0, 0],
      [SECOND, 0, SECOND],
    ],
    ["a start at a store of the next hour, with the clock accepted", { stored: HOUR, accept: true }, [0, 0, 0]],
    ["a start at a new store, with the clock accepted", { accept: true }, [0, 0, 0]],
  ];

interface Opened {
  readonly stored?: number;
  readonly off?: number;
  readonly accept?: true;
  readonly others?: readonly number[];
}

/** All times are relative to NOW. */
function open({ stored, off = 0, accept, others = [] }: Opened = {}) {
  const machine = { wall: NOW + off, elapsed: 5_000_000 };
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line).msg) });
  const clock = new AuthorityClock({ clocks: { wall: () => machine.wall, elapsed: () => machine.elapsed }, log });
  clock.compare(others.map((time) => NOW + time));
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

const MINUTE = 60 * SECOND;

/**
 * The other clocks and this machine's clock at the start, and the time then; all relative to NOW.
 */
const compared: readonly (readonly [
  what: string,
  { others: readonly number[]; off: number; stored?: number; accept?: true },
  time: number,
  isUsed: boolean,
])[] = [
  [
    "a clock ahead of the database by less than ten seconds is used",
    { others: [0], off: 9 * SECOND },
    9 * SECOND,
    true,
  ],
  ["a clock ahead of the database by more is not used", { others: [0], off: 35 * SECOND }, 0, false],
  [
    "a clock ahead of the database and of two others by days is not used",
    { others: [0, -SECOND, SECOND], off: 3 * DAY },
    SECOND,
    false,
  ],
  [
    "a clock ahead by days is not used, even if the store has a time",
    { others: [0, 0], off: 3 * DAY, stored: -MINUTE },
    0,
    false,
  ],
  [
    "a clock ahead by days is not used, even if the store was unused for days",
    { others: [0], off: 3 * DAY, stored: -9 * DAY },
    0,
    false,
  ],
  [
    "a clock that one other clock agrees with is used: the database's clock is wrong",
    { others: [-HOUR, 0], off: 0 },
    0,
    true,
  ],
  ["one other clock that is wrong is not followed", { others: [0, 3 * DAY], off: 0 }, 0, true],
  ["a clock behind the others by an hour is used", { others: [0, 0], off: -HOUR }, -HOUR, true],
  [
    "with a clock behind the others by an hour, the store's time is used",
    { others: [0, 0], off: -HOUR, stored: 0 },
    0,
    true,
  ],
  [
    "a clock behind the store and the others by days is not used",
    { others: [0, 0], off: -3 * DAY, stored: 0 },
    0,
    false,
  ],
  [
    "a clock ahead of a database that is days behind the store is used",
    { others: [-3 * DAY], off: 0, stored: 0 },
    0,
    true,
  ],
  [
    "a clock that is accepted is used, even if it is ahead of the others",
    { others: [0, 0], off: 35 * SECOND, accept: true },
    35 * SECOND,
    true,
  ],
  ["a clock without others is used as it is", { others: [], off: 3 * DAY }, 3 * DAY, true],
  ["another clock without a valid time is ignored", { others: [Number.NaN], off: 3 * DAY }, 3 * DAY, true],
];

for (const [what, { others, off, stored, accept }, time, isUsed] of compared) {
  t.test(`compared at a start: ${what}`, async (t) => {
    const { machine, clock, logged } = open({
      off,
      others,
      ...(stored === undefined ? {} : { stored }),
      ...(accept && { accept }),
    });
    t.equal(Math.round(clock.now()) - NOW, time);
    t.doesNotThrow(clock.check, "changes are made");
    machine.wall += HOUR;
    machine.elapsed += HOUR;
    const isSlow = off < time && isUsed;
    t.equal(Math.round(clock.now()) - NOW, time + HOUR * (isSlow ? 0.9 : 1));
    if (isUsed) t.equal(clock.error, undefined);
    else {
      t.match(
        clock.error,
        /^the clock of the authority's machine is wrong: .* \d+ s (ahead of|behind) .* Set it right/,
      );
      t.equal(logged.filter((line) => /machine is wrong/.test(line)).length, 1, "it is logged once");
    }
  });
}

t.test("a clock that becomes wrong while the authority runs is not used until it is right again", async (t) => {
  for (const jump of [35 * SECOND, 3 * DAY, -3 * DAY]) {
    const { machine, clock, logged } = open({ others: [0, 0, 0] });
    let passed = 0;
    const pass = (off: number): void => {
      passed += MINUTE;
      machine.elapsed += MINUTE;
      machine.wall = NOW + passed + off;
      t.equal(Math.round(clock.now()) - NOW, passed, `${jump}: the time after ${passed} ms`);
      t.doesNotThrow(clock.check);
    };
    for (const off of [0, jump, jump, 0, 0]) pass(off);
    t.match(logged, [/is wrong: it says .* Time goes on by theirs/, /is right again/]);
    t.equal(logged.length, 2);
    t.equal(clock.error, undefined);
  }
});

t.test("a clock near the threshold is not reported as wrong and right again and again", async (t) => {
  const { machine, clock, logged } = open({ others: [0] });
  for (const ahead of [9, 11, 9, 11, 6, 4]) {
    machine.wall = NOW + ahead * SECOND;
    clock.now();
  }
  t.match(logged, [/is wrong/, /is right again/]);
  t.equal(logged.length, 2);
});

t.test("a clock that is not trusted is logged once, and once more when it is right again", async (t) => {
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

t.test("the time of another authority raises the time by at most a day", async (t) => {
  const { clock } = open();
  clock.atLeast(NOW + 2 * DAY);
  t.equal(clock.now(), NOW);
  clock.atLeast(NOW + HOUR);
  t.equal(clock.now(), NOW + HOUR);
  clock.atLeast(NOW);
  t.equal(clock.now(), NOW + HOUR);
});

t.test("the uptime includes the time that the machine slept, however the wall clock is set", async (t) => {
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
