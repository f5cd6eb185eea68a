// When calls begin, wait and are refused, on an event loop that the test turns by hand.
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

/** Waiting calls that take so long each, and what became of them in order. */
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

t.test("a few calls begin without a look at the clock", async (t) => {
  const { loop, callQueue } = open();
  for (let call = 0; call < MAX_UNTIMED; call++) t.ok(callQueue.mayBegin());
  t.notOk(callQueue.mayBegin());
  t.ok(loop.isIdle, "nothing was asked of the loop");
});

t.test("more calls begin until the turn has taken its time", async (t) => {
  const { loop, callQueue } = open();
  t.ok(callQueue.tryBegin("a"));
  loop.milliseconds += MAX_TURN_MS - 0.1;
  t.ok(callQueue.tryBegin("a"));
  loop.milliseconds += 0.1;
  t.notOk(callQueue.tryBegin("a"));
  t.notOk(callQueue.tryBegin("b"));
});

t.test("where nothing waits at the end of a turn, calls begin again without a look at the clock", async (t) => {
  const { loop, callQueue } = open();
  fillTurn(callQueue, loop);
  t.notOk(callQueue.mayBegin());
  loop.turn();
  t.ok(callQueue.mayBegin());
  t.ok(loop.isIdle);
});

t.test("a call that waits begins in a later turn than the one in which it came", async (t) => {
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

t.test("calls begin one after the other until the turn has taken its time", async (t) => {
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
  ["turns stay long while calls wait no longer than is normal", MAX_NORMAL_WAIT_MS, ["a0", "a1", "a2"]],
  ["turns become short when a call has waited longer", MAX_NORMAL_WAIT_MS + 1, ["a0", "a1"]],
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

t.test("turns are long again when a call has waited no longer than is normal, though others wait", async (t) => {
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
  ["where turns are long, calls begin in the turn in which they came, behind those before them", 0, ["a0", "a1", "b0"]],
  ["where turns are short, they begin in a later one", MAX_NORMAL_WAIT_MS + 1, ["a0", "a1"]],
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
  ["turns are short after a call of another group has come", SHARED_MS - 1, ["a0"]],
  ["turns are long again some time after it", SHARED_MS, ["a0", "a1", "a2"]],
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

t.test("a call that begins before those of another group makes turns short", async (t) => {
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
  ["a call may wait where fewer do than began in the last period", 3, false],
  ["a call is refused where as many wait as began in the last period", 4, true],
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

t.test("a call of a group of which none waits begins at once", async (t) => {
  const { loop, callQueue, wait } = open();
  fillTurn(callQueue, loop);
  for (const name of names("a", 3)) wait("a", name, MAX_TURN_MS);
  loop.turn();
  t.notOk(callQueue.tryBegin("a"));
  t.ok(callQueue.tryBegin("b"));
});

const waits: readonly (readonly [title: string, waited: number, outcome: string])[] = [
  ["a call that has waited as long as it may begins", MAX_WAIT_MS, "a0"],
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

t.test("refusals take a small part of a turn in which calls begin; the other late calls wait on", async (t) => {
  const { loop, callQueue, happened, wait } = open();
  fillTurn(callQueue, loop);
  const refuse = (): void => {
    loop.milliseconds += MAX_REFUSE_MS / 2;
  };
  // While the first call takes its time, others become late, and two arrive.
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
});

t.test("refusals take a bounded time where no call is left to begin", async (t) => {
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

t.test("calls that came later are not refused with those that waited too long", async (t) => {
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

t.test("connections put calls off for a bounded time", async (t) => {
  const { loop, callQueue, happened } = accepting(t);
  for (let turn = 0; turn < 20 && happened.length < 2; turn++) {
    callQueue.onConnection();
    loop.milliseconds += 0.5;
    loop.turn();
  }
  t.same(happened, ["a0", "a1"]);
});

/** A queue in which calls wait that take a turn each, and of which the first has just begun. */
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
