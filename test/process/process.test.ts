// A process closes everything that it has opened, at its stop and after a failed start, even if
// closing a part fails.
import t from "tap";
import { loadConfig } from "../../src/config/config.js";
import { createLog } from "../../src/log.js";
import { Process } from "../../src/process/process.js";

function recorded() {
  const logged: string[] = [];
  const closed: string[] = [];
  const log = createLog("error", { write: (line: string) => logged.push(line) });
  const owner = new Process(loadConfig({}, {}), log);
  const add = (name: string) => owner.closeWithProcess({ close: () => closed.push(name) });
  return { owner, add, closed, logged };
}

const NEVER = new Promise(() => {});

t.test("closes parts in reverse order, and parts added by closeLastWithProcess after all others", async (t) => {
  const { owner, add, closed } = recorded();
  add("store");
  add("port");
  owner.closeLastWithProcess({ close: () => closed.push("health") });
  await owner.stop({ noticeMs: 0, drainMs: 1000 });
  t.same(closed, ["port", "store", "health"]);
});

t.test("logs an error when closing a part, and closes the others", async (t) => {
  const { owner, add, closed, logged } = recorded();
  add("store");
  owner.closeWithProcess({ close: () => Promise.reject(new Error("the disk is full")) });
  add("port");
  await owner.abandonStart();
  t.same(closed, ["port", "store"]);
  t.match(logged.join(""), /a part could not be closed/);
  t.match(logged.join(""), /the disk is full/);
});

t.test("closes the other parts if closing one of them hangs", async (t) => {
  const { owner, add, closed } = recorded();
  add("store");
  owner.closeWithProcess({ close: () => NEVER });
  await owner.abandonStart();
  t.same(closed, ["store"]);
});

t.test("a part that is opened after the start was abandoned is closed at once", async (t) => {
  const { owner, add, closed } = recorded();
  await owner.abandonStart();
  add("late");
  t.same(closed, ["late"]);
});

t.test("all parts leave before any is closed, and all parts share one drain time", async (t) => {
  const { owner } = recorded();
  const order: string[] = [];
  const drains: number[] = [];
  const slow = (name: string) =>
    owner.closeWithProcess({
      async close(drainMs) {
        drains.push(drainMs);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(name);
      },
    });
  slow("second");
  slow("first");
  owner.closeWithProcess({ leave: () => order.push("leave"), close() {} });
  await owner.stop({ noticeMs: 30, drainMs: 1000 });
  t.same(order, ["leave", "first", "second"]);
  t.ok(drains[0]! <= 970 + 1, "the notice is part of it");
  t.ok(drains[1]! <= drains[0]! - 19, "and so is what the parts before took");
});
