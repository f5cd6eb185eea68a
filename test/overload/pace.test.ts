// Work in turns lets other work run on the event loop, even if several works wait at the same time.
import t from "tap";
import { inTurns, mapPaced, type Steps } from "../../src/overload/pace.js";

/** Longer than a turn. */
const STEP_MS = 12;
const WORKS = 3;
const STEPS = 3;

/** The number of the event loop's current turn. */
let turn = 0;
let isDone = false;
const count = (): void => {
  turn++;
  if (!isDone) setImmediate(count);
};
setImmediate(count);
t.teardown(() => {
  isDone = true;
});

/** Takes longer than a turn. @returns the number of the turn it runs in */
function step(): number {
  for (const began = performance.now(); performance.now() - began < STEP_MS; );
  return turn;
}

function* steps(turns: number[]): Steps<void> {
  for (let number = 0; number < STEPS; number++) {
    turns.push(step());
    yield;
  }
}

t.test("each step that is longer than a turn has its own turn", async (t) => {
  const turns: number[] = [];
  await inTurns(steps(turns));
  t.equal(new Set(turns).size, STEPS, String(turns));
  const mapped = await mapPaced([1, 2, 3], step);
  t.equal(new Set(mapped).size, 3, String(mapped));
});

t.test("if several works wait, one of them continues in each turn", async (t) => {
  const turns: number[] = [];
  const begin = async (): Promise<void> => {
    await new Promise(setImmediate);
    await inTurns(steps(turns));
  };
  await Promise.all(Array.from({ length: WORKS }, begin));
  const resumed = turns.slice(WORKS);
  t.equal(resumed.length, WORKS * (STEPS - 1));
  t.equal(new Set(resumed).size, resumed.length, String(turns));
});
