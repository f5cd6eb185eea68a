/** Turns: only a few at once, fair between groups, and a limited number that waits. */
import t from "tap";
import { FairTurns } from "../../src/kit/fair-turns.js";
import { Code } from "../../src/kit/index.js";

const OPTIONS = { atOnce: 2, atOnceOfGroup: 1, maxWaiting: 8, maxWaitingOfGroup: 4, refusal: "too many wait" };
const idle = { signal: new AbortController().signal };

/** Work that a test ends explicitly, in the order in which it began. */
function work(turns: FairTurns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const all: Promise<unknown>[] = [];
  let most = 0;
  const run = (group: string, call: { readonly signal: AbortSignal } = idle): Promise<unknown> => {
    const name = `${group}${all.length}`;
    const done = turns.run(group, call, () => {
      begun.push(name);
      most = Math.max(most, ends.size + 1);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
    all.push(done);
    return done;
  };
  const endNext = async (): Promise<void> => {
    const [[name, end]] = ends as unknown as [[string, () => void]];
    ends.delete(name);
    end();
    await all[Number(name.slice(1))];
    // A turn ends after the code that awaits its result has run.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { run, begun, endNext, most: () => most };
}

t.test("a group with few waiting turns is not delayed by a group with many", async (t) => {
  const { run, begun, endNext, most } = work(new FairTurns({ ...OPTIONS, atOnce: 1 }));
  for (let index = 0; index < 4; index++) run("a");
  run("b");
  for (let index = 0; index < 5; index++) await endNext();
  t.same(begun, ["a0", "a1", "b4", "a2", "a3"]);
  t.equal(most(), 1);
});

t.test("one group cannot use all turns", async (t) => {
  const { run, begun, endNext } = work(new FairTurns(OPTIONS));
  run("a");
  run("a");
  run("b");
  t.same(begun, ["a0", "b2"]);
  await endNext();
  t.same(begun, ["a0", "b2", "a1"]);
  await endNext();
  await endNext();
});

t.test("turns are refused above the limit of the group, and above the limit of all", async (t) => {
  const { run, endNext } = work(new FairTurns(OPTIONS));
  const refused = { code: Code.RESOURCE_EXHAUSTED, message: "too many wait" };
  for (let index = 0; index < 5; index++) run("a");
  await t.rejects(run("a"), refused);
  for (let index = 0; index < 5; index++) run("b");
  await t.rejects(run("c"), refused);
  for (let index = 0; index < 10; index++) await endNext();
  run("c");
  await endNext();
});

t.test("a call that ends while it waits frees its place", async (t) => {
  const { run, begun, endNext } = work(new FairTurns(OPTIONS));
  run("a");
  const end = new AbortController();
  const waiting = run("a", end);
  run("a");
  end.abort();
  await t.rejects(waiting, { code: Code.ABORTED });
  await t.rejects(run("a", end), { code: Code.ABORTED });
  await endNext();
  t.same(begun, ["a0", "a2"]);
  await endNext();
});

t.test("work that fails ends its turn", async (t) => {
  const turns = new FairTurns(OPTIONS);
  const failing = () => Promise.reject(new Error("broken"));
  await Promise.all([1, 2, 3].map(() => t.rejects(turns.run("a", idle, failing), { message: "broken" })));
  t.equal(await turns.run("a", idle, async () => 1), 1);
});
