// When calls to an endpoint are refused. The services are simulated, on a clock that the test
// moves.
import t, { type Test } from "tap";
import {
  ConcurrencyLimit,
  MAX_QUEUE_MS,
  MAX_USELESS_MS,
  MIN_LIMIT,
  UNREACHED_MS,
} from "../../src/overload/concurrency-limit.js";

/** Returns when a call that begins at `now` ends, in milliseconds. */
type Service = (now: number) => number;

/** Serves one call after the other, each for about `ms`, even if its caller has gone. */
function queue(ms: number): Service {
  const chance = random();
  let free = 0;
  return (now) => {
    free = Math.max(free, now) + ms * (0.5 + chance());
    return free;
  };
}

/** Serves `workers` calls at once, each for about `ms`, even if its caller has gone. */
function pool(workers: number, ms: number): Service {
  const chance = random();
  const free = Array<number>(workers).fill(0);
  return (now) => {
    const next = free.indexOf(Math.min(...free));
    free[next] = Math.max(free[next] as number, now) + ms * (0.5 + chance());
    return free[next] as number;
  };
}

/** Serves all calls at once. `msAt` returns the duration of a call that begins at a time. */
const parallel =
  (msAt: (now: number) => number): Service =>
  (now) =>
    now + msAt(now);

/** Behaves like `before`, and from `time` on like `after`. */
const later = (time: number, before: Service, after: Service): Service => {
  return (now) => (now < time ? before(now) : after(now));
};

/**
 * A service that is stopped from `from` to `to`, and serves the calls that arrive meanwhile
 * afterwards.
 */
const stopped = (from: number, to: number, service: Service): Service => {
  return (now) => service(now >= from && now < to ? to : now);
};

/**
 * Serves one call after the other, each for about `ms`. From a time on, its process shares the
 * processor with others: it runs for at most `on` milliseconds, and then pauses for at most `off`
 * milliseconds.
 */
function starved(from: number, ms: number, [on, off]: readonly [on: number, off: number], seed: number): Service {
  const chance = random(seed);
  let [free, turn, turnEnd] = [0, 0, from];
  return (now) => {
    free = Math.max(free, now);
    for (let work = ms * (0.5 + chance()); ; ) {
      free = Math.max(free, turn);
      if (free + work <= turnEnd) {
        free += work;
        return free;
      }
      work -= Math.max(0, turnEnd - free);
      turn = turnEnd + off * chance();
      turnEnd = turn + on * chance();
    }
  };
}

/** Random numbers from 0 to 1; the same numbers for the same seed. */
function random(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

interface Load {
  /** Calls per second that begin at this time. */
  readonly rate: (now: number) => number;
  /** How long callers wait for a response, in milliseconds. */
  readonly patience: number;
  readonly seconds: number;
  readonly seed?: number;
}

interface Second {
  answered: number;
  refused: number;
  lost: number;
}

const start = (): Second => ({ answered: 0, refused: 0, lost: 0 });

/** Simulates callers; counts how the calls end in each second. */
function run(service: Service, { rate, patience, seconds, seed }: Load, limit = new ConcurrencyLimit()): Second[] {
  const ends: { began: number; at: number; answered: boolean }[][] = [];
  const counted = Array.from({ length: seconds }, start);
  const chance = random(seed);
  let due = 0;
  for (let now = 0; now < seconds * 1000; now++) {
    const second = counted[Math.floor(now / 1000)] as Second;
    for (const { began, answered } of ends[now] ?? []) {
      limit.end(began, now, answered ? "answered" : "lost");
      second[answered ? "answered" : "lost"]++;
    }
    for (due += (2 * chance() * rate(now)) / 1000; due >= 1; due--) {
      if (!limit.tryBegin(now)) {
        second.refused++;
        continue;
      }
      const done = Math.ceil(service(now));
      const at = Math.max(Math.min(done, now + patience), now + 1);
      ends[at] ??= [];
      ends[at].push({ began: now, at, answered: done <= now + patience });
    }
  }
  return counted;
}

const sum = (seconds: readonly Second[], key: keyof Second): number =>
  seconds.reduce((total, second) => total + second[key], 0);

/** Half of what the service can serve, for five seconds; then `times` the peak. */
const flood = (peak: number, times: number) => (now: number) => (now < 5_000 ? peak / 2 : peak * times);

for (const times of [1.05, 1.3, 2, 10]) {
  for (const ms of [1, 4, 20]) {
    t.test(
      `at ${times} times the peak of a queue with ${ms} ms a call, most calls of the peak get a response`,
      async (t) => {
        const peak = 1000 / ms;
        const load = { rate: flood(peak, times), patience: 1_000, seconds: 30 };
        const last = run(queue(ms), load).slice(-10);
        t.ok(sum(last, "answered") > 0.9 * 10 * peak, `${sum(last, "answered")} of ${10 * peak} are answered`);
        t.ok(sum(last, "lost") < 0.1 * 10 * peak, `${sum(last, "lost")} are lost`);
        t.ok(sum(last, "refused") > 0);
      },
    );
  }
}

const SEEDS = Array.from({ length: 20 }, (_, index) => 1 + 7_919 * index);

for (const [turns, times] of [
  [[100, 200], 10],
  [[200, 300], 2],
  [[200, 300], 10],
] as const) {
  t.test(
    `at ${times} times the peak of a process that runs for ${turns[0]} ms and pauses for ${turns[1]} ms, most calls of the peak get a response`,
    async (t) => {
      for (const seed of SEEDS) {
        const peak = (600 * turns[0]) / (turns[0] + turns[1]);
        const load = { rate: (now: number) => (now < 5_000 ? 300 : peak * times), patience: 1_000, seconds: 30 };
        const last = run(starved(5_000, 1.6, turns, seed), load).slice(-10);
        t.ok(sum(last, "answered") > 0.75 * 10 * peak, `${sum(last, "answered")} of ${10 * peak}, seed ${seed}`);
      }
    },
  );
}

const noise = random();
const SLOW: readonly { title: string; service: Service; rate: Load["rate"]; patience?: number; seconds?: number }[] = [
  { title: "takes 5 s, with 1,000 callers in parallel", service: parallel(() => 5_000), rate: () => 200 },
  {
    title: "takes 5 s, and suddenly has ten times the callers",
    service: parallel(() => 5_000),
    rate: flood(200, 10),
  },
  {
    title: "took 10 ms and takes 5 s from now on",
    service: parallel((now) => (now < 5_000 ? 10 : 5_000)),
    rate: () => 500,
  },
  {
    title: "took 10 ms and takes 0.2 to 3 s from now on",
    service: parallel((now) => (now < 5_000 ? 10 : 200 + 2_800 * noise())),
    rate: () => 500,
  },
  {
    title: "took 10 ms and takes 1 s from now on, while calls double",
    service: parallel((now) => (now < 5_000 ? 10 : 1_000)),
    rate: (now) => (now < 5_500 ? 300 : 600),
  },
  {
    title: "took 10 ms, then takes 0.2 s, then 5 s",
    service: parallel((now) => (now < 5_000 ? 10 : now < 10_000 ? 200 : 5_000)),
    rate: () => 500,
  },
  {
    title: "took 10 ms and takes 1 s from now on, and callers give up",
    service: parallel((now) => (now < 5_000 ? 10 : 1_000)),
    rate: () => 500,
    patience: 900,
  },
  {
    title: "takes longer and longer, 0.1 to 0.8 s, at 20 calls a second",
    service: parallel((now) => (now < 5_000 ? 10 : Math.min(120 + (now - 5_000) / 10, 800))),
    rate: () => 20,
  },
  {
    title: "took 10 ms and takes 0.2 to 0.35 s, while it completes more and more calls",
    service: parallel((now) => (now < 5_000 ? 10 : Math.min(200 + (now - 5_000) / 20, 350))),
    rate: (now) => (now < 5_500 ? 500 : Math.min(500 + (now - 5_500) / 2, 3_000)),
  },
  {
    title: "responds to polls when there is news, or after 20 s",
    service: parallel(() => (noise() < 0.2 ? 20_000 * noise() : 20_000)),
    rate: () => 100,
    seconds: 90,
  },
  {
    title: "responds to polls when there is news, and callers give up sooner",
    service: parallel(() => 60_000 * noise()),
    rate: (now) => (now < 30_000 ? 50 : 200),
    patience: 20_000,
    seconds: 90,
  },
  {
    title: "pauses for a second each ten seconds",
    service: parallel((now) => (now % 10_000 < 1_000 ? 1_010 - (now % 10_000) : 10)),
    rate: () => 1_000,
  },
  {
    title: "took 1 to 300 ms, and takes 1 to 1,000 ms from now on",
    service: parallel((now) => (noise() < 0.001 ? 1 : now < 10_000 ? 300 : 1_000)),
    rate: () => 1_000,
  },
  {
    title: "is stopped for three seconds",
    service: stopped(10_000, 13_000, queue(1)),
    rate: () => 500,
  },
  {
    title: "is stopped for three seconds, and callers give up after one",
    service: stopped(10_000, 13_000, queue(1)),
    rate: () => 500,
    patience: 1_000,
  },
  {
    title: "gets the calls of two seconds at once from a gateway that was stopped",
    service: queue(1),
    rate: (now) => (now < 10_000 || now > 12_000 ? 500 : now === 12_000 ? 1_000_000 : 0),
  },
  {
    title: "takes two seconds for the first calls",
    service: parallel((now) => Math.max(10, 2_000 - now / 2)),
    rate: () => 500,
  },
  {
    title: "gets more calls for half a second than it can serve in time",
    service: queue(1),
    rate: (now) => (now % 10_000 < 500 ? 1_250 : 300),
  },
];
for (const { title, service, rate, patience = 60_000, seconds = 30 } of SLOW) {
  t.test(`a service that ${title} is not limited`, async (t) => {
    for (const seed of SEEDS.slice(0, 5)) {
      t.equal(sum(run(service, { rate, patience, seconds, seed }), "refused"), 0, `seed ${seed}`);
    }
  });
}

/** A limit that was set in a flood. */
function limited(t: Test): ConcurrencyLimit {
  const limit = new ConcurrencyLimit();
  run(queue(4), { rate: flood(250, 2), patience: 1_000, seconds: 15 }, limit);
  t.ok(limit.limit < Number.POSITIVE_INFINITY);
  return limit;
}

t.test("a limit that was lowered because of lost calls grows to what many workers can serve", async (t) => {
  const seconds = run(pool(50, 200), { rate: flood(250, 10), patience: 1_000, seconds: 30 });
  t.ok(sum(seconds.slice(-10), "answered") > 0.9 * 2_500);
});

t.test("at the limit, calls wait for about MAX_QUEUE_MS", async (t) => {
  const { limit } = limited(t);
  t.ok(limit <= (1.5 * MAX_QUEUE_MS) / 4, `${limit} in flight`);
});

t.test("a limit that was not reached for a while is lifted", async (t) => {
  const limit = limited(t);
  t.notOk(Array.from({ length: 1_000 }, () => limit.tryBegin(15_000)).every(Boolean));
  t.ok(limit.tryBegin(15_000 + UNREACHED_MS + 1));
  t.equal(limit.limit, Number.POSITIVE_INFINITY);
});

const BECAME: readonly { title: string; after: Service }[] = [
  { title: "serves all calls in parallel", after: parallel(() => 10) },
  { title: "serves all calls in parallel, a little slower", after: parallel(() => 75) },
  { title: "serves all calls in parallel, even slower", after: parallel(() => 150) },
];
for (const { title, after } of BECAME) {
  t.test(`a limit that is always reached is lifted when the service ${title}`, async (t) => {
    const load = { rate: flood(250, 20), patience: 60_000, seconds: 45 };
    const seconds = run(later(15_000, queue(4), after), load);
    t.ok((seconds[14] as Second).refused > 0);
    t.match(seconds.at(-1), { refused: 0, lost: 0 });
  });
}

t.test("a limit from a cold start is lifted when the service is warm", async (t) => {
  const seconds = run(later(3_000, queue(20), queue(1)), { rate: () => 300, patience: 60_000, seconds: 10 });
  t.match(seconds.at(-1), { refused: 0, lost: 0 });
});

/** Calls that begin together and end together. @returns how many were refused */
function burst(limit: ConcurrencyLimit, calls: number, began: number, took: number): number {
  let begun = 0;
  while (begun < calls && limit.tryBegin(began)) begun++;
  for (let call = 0; call < begun; call++) limit.end(began, began + took, "answered");
  return calls - begun;
}

t.test("calls are not compared with calls of an hour ago", async (t) => {
  const limit = new ConcurrencyLimit();
  for (const second of [0, 1, 2]) t.equal(burst(limit, 20, second * 1_000, 10), 0);
  for (const second of [3, 5]) t.equal(burst(limit, 60, second * 1_000, 300), 0);
  for (const second of [3_600, 3_602]) t.equal(burst(limit, 1, second * 1_000, 1_000), 0);
  for (const second of [3_610, 3_612]) t.equal(burst(limit, 500, second * 1_000, 1_000), 0);
});

t.test("a limit under which all calls hang is lifted", async (t) => {
  const limit = limited(t);
  // The calls in flight never end.
  let now = 15_000;
  for (const last = now + MAX_USELESS_MS + 1_000; now <= last && !limit.tryBegin(now); ) now += 100;
  t.equal(limit.limit, Number.POSITIVE_INFINITY);
});

t.test("calls that began before the limit do not change it, however long they wait", async (t) => {
  const seconds = run(queue(4), { rate: flood(250, 40), patience: 60_000, seconds: 40 });
  t.ok(sum(seconds.slice(-10), "answered") > 0.9 * 2_500);
  t.ok(seconds.slice(-30).every(({ refused }) => refused > 0.9 * 9_750));
});

t.test("a limit grows when the service has become faster", async (t) => {
  const service = later(15_000, queue(4), queue(1));
  const seconds = run(service, { rate: flood(250, 3), patience: 1_000, seconds: 25 });
  t.ok((seconds[14] as Second).refused > 0);
  t.match(seconds[24], { refused: 0, lost: 0 });
});

t.test("a limit under which calls do not become faster is lifted", async (t) => {
  const service = later(
    15_000,
    queue(4),
    parallel(() => 1_000),
  );
  const seconds = run(service, { rate: flood(250, 2), patience: 60_000, seconds: 15 + (3 * MAX_USELESS_MS) / 1000 });
  t.ok((seconds[15] as Second).refused > 0);
  t.match(seconds.at(-1), { refused: 0, lost: 0 });
});

t.test("some calls begin, however many are lost", async (t) => {
  const limit = new ConcurrencyLimit();
  run(queue(4), { rate: flood(250, 40), patience: 300, seconds: 10 }, limit);
  t.ok(limit.limit >= MIN_LIMIT);
});
