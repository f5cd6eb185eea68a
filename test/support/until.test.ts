// A test's wait ends, and its error names what the test waited for.
import t from "tap";
import { inTime, until } from "./until.js";

const never = new Promise<never>(() => undefined);

t.test("the wait ends when the condition becomes true", async () => {
  let looks = 0;
  await until(() => ++looks === 3);
  await until(async () => ++looks === 6);
});

t.test("a condition that stays false fails with its source and the caller's stack", async (t) => {
  const rules: string[] = [];
  const error = await until(() => rules.includes("may"), { within: 10 }).catch((thrown: Error) => thrown);
  t.match(error, { message: /^not so within 0.01 s: \(\) => rules.includes\("may"\)$/, stack: /until\.test/ });
});

t.test("a condition whose promise never settles fails too", async (t) => {
  await t.rejects(
    until(() => never, { within: 10, what: () => "a guard decides; it says: no lease" }),
    { message: "not so within 0.01 s: a guard decides; it says: no lease" },
  );
});

t.test("a promise that settles in time passes on its value or its error", async (t) => {
  t.equal(await inTime(Promise.resolve(1), "one"), 1);
  await t.rejects(inTime(Promise.reject(new Error("its own")), "one"), { message: "its own" });
});

t.test("a promise that does not settle fails with the name of the awaited event", async (t) => {
  await t.rejects(inTime(never, "the authority closes", 10), {
    message: "not so within 0.01 s: the authority closes",
    stack: /until\.test/,
  });
});
