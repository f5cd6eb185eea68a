// Everything that a process has opened is closed at its stop and after a failed start, even if closing a part fails.
import t from "tap";
import { createLog } from "../../src/log.js";
import { Shutdown } from "../../src/process/shutdown.js";

function recorded() {
  const logged: string[] = [];
  const closed: string[] = [];
  const shutdown = new Shutdown(createLog("error", { write: (line: string) => logged.push(line) }));
  const add = (name: string) => shutdown.add(() => closed.push(name));
  return { shutdown, add, closed, logged };
}

const NEVER = new Promise(() => {});

t.test("closes parts in the opposite order, and those added as last after all others", async (t) => {
  const { shutdown, add, closed } = recorded();
  add("store");
  add("port");
  shutdown.addLast(() => closed.push("health"));
  await shutdown.run({ noticeMs: 0, drainMs: 1000 });
  t.same(closed, ["port", "store", "health"]);
});

t.test("logs a part whose closing throws, and closes the others", async (t) => {
  const { shutdown, add, closed, logged } = recorded();
  add("store");
  shutdown.add(() => Promise.reject(new Error("the disk is full")));
  add("port");
  await shutdown.abandonStart();
  t.same(closed, ["port", "store"]);
  t.match(logged.join(""), /a part could not be closed/);
  t.match(logged.join(""), /the disk is full/);
});

t.test("closes the other parts when the closing of one hangs", async (t) => {
  const { shutdown, add, closed } = recorded();
  add("store");
  shutdown.add(() => NEVER);
  await shutdown.abandonStart();
  t.same(closed, ["store"]);
});

t.test("closes a part at once that is opened after the start was abandoned", async (t) => {
  const { shutdown, add, closed } = recorded();
  await shutdown.abandonStart();
  add("late");
  t.same(closed, ["late"]);
});

t.test("calls its listeners before it closes, and shares one drain time among all parts", async (t) => {
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
  shutdown.onBegin(() => order.push("listener"));
  await shutdown.run({ noticeMs: 30, drainMs: 1000 });
  t.same(order, ["listener", "first", "second"]);
  t.ok(drains[0]! <= 970 + 1, "the notice is part of it");
  t.ok(drains[1]! <= drains[0]! - 19, "and so is what the parts before took");
});
