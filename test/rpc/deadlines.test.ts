// A call ends at its deadline: never earlier, and at most 16 ms later.
import { mock } from "node:test";
import t from "tap";
import { Deadlines, type Expiring } from "../../src/rpc/open-calls.js";
import { replaceClock } from "../support/clock.js";

const SLOT = 16;
/** Neither at the beginning of a slot nor at its end. */
const NOW = 1_000_003;

mock.timers.enable({ apis: ["setTimeout", "Date"], now: NOW });
t.teardown(() => mock.timers.reset());
replaceClock(t, performance, Date.now);

/**
 * A call whose deadline is `after` milliseconds from now. `ended` is the number of milliseconds
 * after which it ended.
 */
class Waiting implements Expiring {
  index = -1;
  ended: number | undefined;
  readonly deadlineMonotonicMs: number;
  readonly #then: () => void;

  constructor(after: number, then: () => void = () => {}) {
    this.deadlineMonotonicMs = performance.now() + after;
    this.#then = then;
  }

  expire(): void {
    this.ended = performance.now() - NOW;
    this.#then();
  }
}

function tick(milliseconds: number): void {
  for (let passed = 0; passed < milliseconds; passed++) mock.timers.tick(1);
}

t.beforeEach(() => mock.timers.setTime(NOW));

const orders: [title: string, deadlines: readonly number[]][] = [
  ["one deadline", [20]],
  ["several deadlines, the latest added first", [90, 50, 30, 5]],
  ["several deadlines, the earliest added first", [5, 30, 50, 90]],
  ["deadlines that are close to each other", [40, 41, 39, 55, 56]],
];
for (const [title, times] of orders) {
  t.test(title, async (t) => {
    const deadlines = new Deadlines();
    const calls = times.map((time) => new Waiting(time));
    for (const call of calls) deadlines.add(call);
    tick(200);
    for (const [index, { ended }] of calls.entries()) {
      const time = times[index]!;
      t.ok(ended !== undefined && ended >= time && ended <= time + SLOT, `${ended} after ${time}`);
    }
  });
}

t.test("a call that has ended does not expire, and other calls do", async (t) => {
  const deadlines = new Deadlines();
  const [over, other] = [new Waiting(20), new Waiting(60)];
  for (const call of [over, other]) deadlines.add(call);
  deadlines.delete(over);
  tick(100);
  t.equal(over.ended, undefined);
  t.ok(other.ended! >= 60 && other.ended! <= 60 + SLOT);
});

t.test("a call that the expiry of another call removes does not expire", async (t) => {
  const deadlines = new Deadlines();
  const second = new Waiting(20);
  const first = new Waiting(20, () => deadlines.delete(second));
  for (const call of [first, second]) deadlines.add(call);
  tick(100);
  t.ok(first.ended);
  t.equal(second.ended, undefined);
});

t.test("after close, no call expires", async (t) => {
  const deadlines = new Deadlines();
  const call = new Waiting(20);
  deadlines.add(call);
  deadlines.close();
  tick(100);
  t.equal(call.ended, undefined);
});
