// A day's quota over `kill -9` of everything, at any moment: it is never exceeded, and each death
// of a guard wastes at most a hundredth of what was left.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { openStore } from "../../src/store/open.js";
import { bundleInto } from "../support/bundle.js";
import { FULL } from "../support/full.js";
import { until } from "../support/until.js";

const ROUNDS = FULL ? 100 : 5;
const GUARDS = 2;
const QUOTA = ROUNDS * 400;
/** The longest time from the first counted call to the kill, in milliseconds. */
const LONGEST = 300;
/** Calls that may be counted and not be printed at the kill. */
const LATE = GUARDS * 8;

/** What one process has counted, and whether the quota was used up. */
interface Round {
  readonly counted: number;
  readonly isEmpty: boolean;
}

/** @param kill after how many milliseconds; undefined for when the quota is used up */
async function run(program: string, folder: string, kill: number | undefined): Promise<Round> {
  // A file, because a write to a pipe may have to wait.
  const file = join(folder, "printed");
  const fd = openSync(file, "w");
  const child = spawn(process.execPath, [program, folder, `${QUOTA}`, `${GUARDS}`], {
    stdio: ["ignore", fd, "inherit"],
  });
  closeSync(fd);
  const closed = once(child, "close");
  const printed = (): string => readFileSync(file, "utf8");
  const what = (): string => `the process counts calls; it printed ${printed().slice(-200)}`;
  await until(() => printed() !== "" || child.exitCode !== null, { what });
  if (kill === undefined) await until(() => printed().includes("empty"), { what });
  else await sleep(kill);
  child.kill("SIGKILL");
  await closed;
  const lines = printed().split("\n");
  return { counted: lines.filter((line) => line === "counted").length, isEmpty: lines.includes("empty") };
}

/** How many calls were lent today. */
async function usedIn(folder: string, day: string): Promise<number> {
  const store = await openStore("sqlite:", folder);
  try {
    const [entry] = await store.get([`quotas/default/daily/${day}/`]);
    return Number(entry?.value ?? 0);
  } finally {
    await store.close();
  }
}

const today = (): string => new Date().toISOString().slice(0, 10);

t.test(`kill -9 of everything, ${ROUNDS} times`, async (t) => {
  const root = t.testdir({ data: {} });
  const folder = join(root, "data");
  const program = await bundleInto(root, "test/limits/quota-process.ts");
  const day = today();
  let counted = 0;
  let used = 0;
  let deaths = 0;
  let wasted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const left = QUOTA - used;
    const { counted: now, isEmpty } = await run(program, folder, Math.random() * LONGEST);
    const after = await usedIn(folder, day);
    if (today() !== day) return t.comment("a new day has begun: nothing more can be said");
    const waste = after - used - now;
    const may = GUARDS * Math.max(1, Math.floor(left / 100)) + LATE;
    if (waste > may) t.fail(`round ${round}: ${waste} wasted of ${left} left, at most ${may} may be`);
    counted += now;
    wasted += waste;
    if (!isEmpty) deaths++;
    used = after;
  }
  counted += (await run(program, folder, undefined)).counted;
  t.comment(`${counted} of ${QUOTA} calls were counted, ${wasted} were wasted by ${deaths} deaths`);
  t.ok(deaths > 0 && counted > QUOTA / 4, `${deaths} deaths, ${counted} calls`);
  t.ok(counted <= QUOTA, `${counted} calls were counted of a quota of ${QUOTA}`);
  t.equal(await usedIn(folder, day), QUOTA, "all of the quota was lent");
});
