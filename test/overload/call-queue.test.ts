// When calls begin, wait or are refused, on an event loop that the test controls.
import t, { type Test } from "tap";
import {
  CallQueue,
  MAX_NORMAL_WAIT_MS,
  MAX_REFUSE_MS,
  MAX_SHORT_TURN_MS,
  MAX_TURN_MS,
  MAX_UNTIMED,
  MAX_WAIT_MS,
  PERIOD_MS,
  SHARED_MS,
} from "../../src/overload/call-queue.js";
import { fillTurn, ManualLoop } from "./manual-loop.js";

/**
 * A queue; its waiting calls take a given time, and `happened` lists what becomes of them, in
 * order.
 */
function open() {
  const loop = new ManualLoop();
  const callQueue = new CallQueue(loop);
  const happened: string[] = [];
  const wait = (group: string, name: string, milliseconds = 0) =>
    callQueue.wait(group, {
      begin: () => {
        happened.push(name);
        loop.milliseconds += milliseconds;
      },
      refuse: () => happened.push(`${name} refused`),
    });
  return { loop, callQueue, happened, wait };
}

const names = (group: string, count: number) => Array.from({ length: count }, (_, index) => `${group}${index}`);

t.test("a few calls begin without a check of the clock", async (t) => {
  const { loop, callQueue } = open();
  for (let call = 0; call < MAX_UNTIMED; call++) t.ok(callQueue.mayBegin());
  t.notOk(callQueue.mayBegin());
  t.ok(loop.isIdle, "nothing was asked of the loop");
});

t.test("more calls begin until the turn's time is over", async (t) => {
  const { loop, callQueue } = open();
  t.ok(callQueue.tryBegin("a"));
  loop.milliseconds += MAX_TURN_MS - 0.1;
  t.ok(callQueue.tryBegin("a"));
  loop.milliseconds += 0.1;
  t.notOk(callQueue.tryBegin("a"));
  t.notOk(callQueue.tryBegin("b"));
});

t.test("if no call waits at the end of a turn, calls begin again without a check of the clock", async (t) => {
  const { loop, callQueue } = open();
  fillTurn(callQueue, loop);
  t.notOk(callQueue.mayBegin());
  loop.turn();
  t.ok(callQueue.mayBegin());
  t.ok(loop.isIdle);
});

t.test("a waiting call begins in a later turn than the one in which it arrived", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  wait("a", "a0");
  loop.turn();
  t.same(happened, [], "the loop may still find that its caller has gone");
  loop.turn();
  t.same(happened, ["a0"]);
  t.ok(loop.isIdle);
});

t.test("a call whose caller has gone does not begin", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  wait("a", "a0").tryCancel();
  wait("a", "a1");
  wait("b", "b0").tryCancel();
  for (let turn = 0; turn < 3; turn++) loop.turn();
  t.same(happened, ["a1"]);
  t.ok(loop.isIdle);
  t.equal(callQueue.refused, 0);
});

t.test("calls begin one after the other until the turn's time is over", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  for (const name of names("a", 5)) wait("a", name, MAX_TURN_MS / 2);
  loop.turn();
  loop.turn();
  t.same(happened, ["a0", "a1"]);
  loop.turn();
  loop.turn();
  t.same(happened, ["a0", "a1", "a2", "a3", "a4"]);
});

const lengths: readonly (readonly [title: string, waited: number, begun: readonly string[]])[] = [
  ["turns stay long while no call waits longer than normal", MAX_NORMAL_WAIT_MS, ["a0", "a1", "a2"]],
  ["turns become short when a call has waited longer than normal", MAX_NORMAL_WAIT_MS + 1, ["a0", "a1"]],
];
for (const [title, waited, begun] of lengths) {
  t.test(title, async (t) => {
    const { loop, callQueue, happened, wait } = open();
    fillTurn(callQueue, loop);
    wait("a", "a0", MAX_TURN_MS);
    loop.turn();
    loop.milliseconds += waited;
    for (const name of ["a1", "a2"]) wait("a", name, MAX_SHORT_TURN_MS);
    loop.turn();
    t.same(happened, ["a0"]);
    loop.turn();
    t.same(happened, begun);
    loop.turn();
    loop.turn();
    t.ok(loop.isIdle, "and where none waits, they are long again");
    t.ok(callQueue.tryBegin("a"));
    loop.milliseconds += MAX_TURN_MS - 0.1;
    t.ok(callQueue.tryBegin("a"));
  });
}

t.test("turns become long again when a call has not waited longer than normal, even if others wait", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  wait("a", "a0", MAX_TURN_MS);
  loop.turn();
  loop.milliseconds += MAX_NORMAL_WAIT_MS + 1;
  for (const name of ["a1", "a2", "a3"]) wait("a", name, MAX_SHORT_TURN_MS);
  loop.turn();
  t.same(happened, ["a0"]);
  loop.turn();
  t.same(happened, ["a0", "a1"]);
  loop.turn();
  t.same(happened, ["a0", "a1", "a2", "a3"]);
});

const arrivals: readonly (readonly [title: string, waited: number, begun: readonly string[]])[] = [
  ["when turns are long, calls begin in the turn in which they arrived, after earlier calls", 0, ["a0", "a1", "b0"]],
  ["when turns are short, calls begin in a later turn", MAX_NORMAL_WAIT_MS + 1, ["a0", "a1"]],
];
for (const [title, waited, begun] of arrivals) {
  t.test(title, async (t) => {
    const { loop, callQueue, happened, wait } = open();
    fillTurn(callQueue, loop);
    wait("a", "a0", MAX_TURN_MS);
    wait("a", "a1");
    loop.turn();
    loop.milliseconds += waited;
    loop.turn();
    t.same(happened, ["a0"]);
    wait("b", "b0");
    loop.turn();
    t.same(happened, begun);
  });
}

const shared: readonly (readonly [title: string, ago: number, begun: readonly string[]])[] = [
  ["turns are short after a call of another group has arrived", SHARED_MS - 1, ["a0"]],
  ["turns become long again some time after that call", SHARED_MS, ["a0", "a1", "a2"]],
];
for (const [title, ago, begun] of shared) {
  t.test(title, async (t) => {
    const { loop, callQueue, happened, wait } = open();
    fillTurn(callQueue, loop);
    callQueue.tryBegin("b");
    loop.turn();
    fillTurn(callQueue, loop, "b");
    loop.milliseconds += ago - MAX_TURN_MS;
    for (const name of names("a", 3)) wait("a", name, MAX_SHORT_TURN_MS);
    loop.turn();
    loop.turn();
    t.same(happened, begun);
  });
}

t.test("a call that begins before waiting calls of another group makes turns short", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  wait("a", "a0", MAX_TURN_MS);
  for (const name of ["a1", "a2"]) wait("a", name, MAX_SHORT_TURN_MS);
  loop.turn();
  t.ok(callQueue.tryBegin("b"));
  loop.turn();
  loop.turn();
  t.same(happened, ["a0", "a1"]);
});

const fills: readonly (readonly [title: string, waiting: number, isRefused: boolean])[] = [
  ["a call may wait if fewer calls of its group wait than began in the last period", 3, false],
  ["a call is refused if as many calls of its group wait as began in the last period", 4, true],
];
for (const [title, waiting, isRefused] of fills) {
  t.test(title, async (t) => {
    const { loop, callQueue, wait } = open();
    fillTurn(callQueue, loop);
    for (const name of names("a", waiting)) wait("a", name, PERIOD_MS);
    t.notOk(callQueue.mustRefuse("a"));
    for (let turn = 0; turn < 3; turn++) {
      loop.turn();
      t.equal(callQueue.mustRefuse("a"), isRefused && turn === 2);
    }
    t.notOk(callQueue.mustRefuse("b"));
    t.equal(callQueue.refused, isRefused ? 1 : 0);
  });
}

t.test("groups take turns, whatever the length of their queues", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  for (const name of names("a", 3)) wait("a", name);
  wait("b", "b0");
  loop.turn();
  loop.turn();
  t.same(happened, ["a0", "b0", "a1", "a2"]);
});

t.test("a call begins at once if no call of its group waits", async (t) => {
  const { loop, callQueue, wait } = open();
  fillTurn(callQueue, loop);
  for (const name of names("a", 3)) wait("a", name, MAX_TURN_MS);
  loop.turn();
  t.notOk(callQueue.tryBegin("a"));
  t.ok(callQueue.tryBegin("b"));
});

const waits: readonly (readonly [title: string, waited: number, outcome: string])[] = [
  ["a call that has waited for the maximum time begins", MAX_WAIT_MS, "a0"],
  ["a call that has waited longer is refused", MAX_WAIT_MS + 1, "a0 refused"],
];
for (const [title, waited, outcome] of waits) {
  t.test(title, async (t) => {
    const { loop, callQueue, happened, wait } = open();
    fillTurn(callQueue, loop);
    wait("a", "a0");
    loop.turn();
    loop.milliseconds += waited;
    loop.turn();
    t.same(happened, [outcome]);
    t.equal(callQueue.refused, outcome === "a0" ? 0 : 1);
  });
}

t.test(
  "in a turn that begins calls, refusals take little time; the other late calls wait for the next turn",
  async (t) => {
    const { loop, callQueue, happened, wait } = open();
    fillTurn(callQueue, loop);
    const refuse = (): void => {
      loop.milliseconds += MAX_REFUSE_MS / 2;
    };
    // During the first call, other calls become late, and two arrive.
    callQueue.wait("long", {
      begin() {
        loop.milliseconds += MAX_WAIT_MS + 1;
        wait("fresh", "fresh0", MAX_TURN_MS);
        wait("fresh", "fresh1", MAX_TURN_MS);
      },
      refuse,
    });
    for (const name of names("late", 6)) callQueue.wait(name, { begin: () => t.fail(name), refuse });
    loop.turn();
    loop.turn();
    t.same(happened, []);
    loop.turn();
    t.same(happened, ["fresh0"]);
    t.equal(callQueue.refused, 2);
    loop.turn();
    t.same(happened, ["fresh0", "fresh1"]);
    t.equal(callQueue.refused, 4);
    loop.turn();
    t.equal(callQueue.refused, 6);
    t.ok(loop.isIdle);
  },
);

t.test("refusals take a limited time in a turn in which no call is left to begin", async (t) => {
  const { loop, callQueue } = open();
  fillTurn(callQueue, loop);
  const late = 3 * (MAX_SHORT_TURN_MS / MAX_REFUSE_MS);
  const refuse = (): void => {
    loop.milliseconds += MAX_REFUSE_MS;
  };
  for (let call = 0; call < late; call++) callQueue.wait("a", { begin: () => t.fail(), refuse });
  loop.turn();
  loop.milliseconds += MAX_WAIT_MS + 1;
  for (let turn = 1; turn <= 3; turn++) {
    loop.turn();
    t.equal(callQueue.refused, (turn * late) / 3, "what has arrived meanwhile is looked at in between");
  }
  t.ok(loop.isIdle);
});

t.test("calls that arrived later are not refused together with calls that waited too long", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  wait("a", "a0");
  loop.turn();
  loop.milliseconds += MAX_WAIT_MS + 1;
  wait("a", "a1");
  loop.turn();
  loop.turn();
  t.same(happened, ["a1", "a0 refused"]);
});

t.test("a turn that accepted a connection begins no call, because more connections may wait", async (t) => {
  const { loop, callQueue, happened } = accepting(t);
  callQueue.onConnection();
  loop.turn();
  t.same(happened, ["a0"]);
  loop.turn();
  t.same(happened, ["a0", "a1"], "the next one does");
});

t.test("new connections delay calls for a limited time", async (t) => {
  const { loop, callQueue, happened } = accepting(t);
  for (let turn = 0; turn < 20 && happened.length < 2; turn++) {
    callQueue.onConnection();
    loop.milliseconds += 0.5;
    loop.turn();
  }
  t.same(happened, ["a0", "a1"]);
});

/** A queue with waiting calls that take a turn each; the first of them has just begun. */
function accepting(t: Test) {
  const opened = open();
  const { loop, callQueue, happened, wait } = opened;
  fillTurn(callQueue, loop);
  for (const name of names("a", 2)) wait("a", name, MAX_TURN_MS);
  loop.turn();
  loop.turn();
  t.same(happened, ["a0"]);
  return opened;
}
