// What a process has opened is closed at its stop and after a failed start, whatever one of the parts does.
import t from "tap";
import { Shutdown } from "../../../cli/roles/shutdown.js";
import { createLog } from "../../../src/log.js";

function recorded() {
  const logged: string[] = [];
  const closed: string[] = [];
  const shutdown = new Shutdown(createLog("error", { write: (line: string) => logged.push(line) }));
  const add = (name: string) => shutdown.add(() => closed.push(name));
  return { shutdown, add, closed, logged };
}

const NEVER = new Promise(() => {});

t.test("closes in the opposite order, and last what is to be last", async (t) => {
  const { shutdown, add, closed } = recorded();
  add("store");
  add("port");
  shutdown.addLast(() => closed.push("health"));
  await shutdown.run({ noticeMs: 0, drainMs: 1000 });
  t.same(closed, ["port", "store", "health"]);
});

t.test("a part whose closing throws is logged, and the others are closed", async (t) => {
  const { shutdown, add, closed, logged } = recorded();
  add("store");
  shutdown.add(() => Promise.reject(new Error("the disk is full")));
  add("port");
  await shutdown.abandonStart();
  t.same(closed, ["port", "store"]);
  t.match(logged.join(""), /a part could not be closed/);
  t.match(logged.join(""), /the disk is full/);
});

t.test("a part whose closing hangs does not keep the others", async (t) => {
  const { shutdown, add, closed } = recorded();
  add("store");
  shutdown.add(() => NEVER);
  await shutdown.abandonStart();
  t.same(closed, ["store"]);
});

t.test("what a start opens after it was given up is closed at once", async (t) => {
  const { shutdown, add, closed } = recorded();
  await shutdown.abandonStart();
  add("late");
  t.same(closed, ["late"]);
});

t.test("tells that it leaves before it closes, and shares one time to drain among all", async (t) => {
  const { shutdown } = recorded();
  const order: string[] = [];
  const drains: number[] = [];
  const slow = (name: string) =>
    shutdown.add(async (drainMs) => {
      drains.push(drainMs);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push(name);
    });
  slow("second");
  slow("first");
  shutdown.onBegin(() => order.push("told"));
  await shutdown.run({ noticeMs: 30, drainMs: 1000 });
  t.same(order, ["told", "first", "second"]);
  t.ok(drains[0]! <= 970 + 1, "the notice is part of it");
  t.ok(drains[1]! <= drains[0]! - 19, "and so is what the parts before took");
});
