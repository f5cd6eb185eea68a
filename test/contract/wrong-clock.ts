/**
 * Three authorities on one store continue to work when the clock of one machine, or of the
 * database, is wrong.
 */

import pino from "pino";
import type { Test } from "tap";
import type { KeyValueStore } from "../../src/store/store.js";
import { isGood, type Open, open } from "../services/auth/open.js";
import { until } from "../support/until.js";

const SECOND = 1_000;
const DAY = 86_400 * SECOND;

/** An authority, and the error of the clock of its machine. */
interface Member extends Open {
  off: number;
  readonly said: string[];
}

interface Fault {
  readonly title: string;
  /** How far the clock of one authority is ahead, in milliseconds. */
  readonly off: number;
  readonly when: "from its start" | "while it runs";
}

const FAULTS: readonly Fault[] = [35 * SECOND, 3 * DAY, -3 * DAY].flatMap((off) =>
  (["from its start", "while it runs"] as const).map((when) => {
    const far = off === 35 * SECOND ? "35 s" : "3 days";
    return { title: `one clock ${far} ${off < 0 ? "behind" : "ahead"} ${when}`, off, when };
  }),
);

/**
 * @param openDatabase prepares a store whose clock is right, and returns a function that opens it
 * once more, as each process does
 */
export function wrongClockContract(t: Test, openDatabase: (t: Test) => Promise<() => Promise<KeyValueStore>>): void {
  for (const { title, off, when } of FAULTS) {
    t.test(`${title} does not prevent changes, and is not stored`, async (t) => {
      const openStore = await openDatabase(t);
      const right = [await start(t, openStore), await start(t, openStore)];
      const wrong = await start(t, openStore, when === "from its start" ? off : 0);
      const before = await Promise.all([...right, wrong].map((member) => member.login()));
      wrong.off = off;
      for (const member of [...right, wrong]) {
        const token = await member.login();
        for (const guard of [...right, wrong]) t.ok(await isGood(guard, token), "a token is good at each of them");
      }
      for (const token of before) t.ok(await isGood(wrong, token), "what was good stays good");
      // The others read a time that the wrong clock has written, at least once.
      const error = /^the clock of the authority's machine is wrong: .* \d+ s (ahead of|behind) the database's clock/;
      t.match(wrong.authority.errors(), [error]);
      t.match(wrong.said.filter((line) => error.test(line)).length, 1, "it is logged once");
      for (const member of right) t.same(member.authority.errors(), []);
      for (const member of [wrong, ...right]) await member.close();

      const after = [await start(t, openStore), await start(t, openStore, off), await start(t, openStore)];
      for (const member of after) t.ok(await isGood(member, await member.login()), "changes are made after restarts");
      t.same(after[0]!.authority.errors(), []);
      after[1]!.off = 0;
      await until(() => after[1]!.authority.errors().length === 0);
    });
  }
}

/** Opens an authority on a machine whose clock is ahead by `off` milliseconds. */
export async function start(t: Test, openStore: () => Promise<KeyValueStore>, off = 0): Promise<Member> {
  const store = await openStore();
  t.teardown(() => store.close());
  const machine = { off };
  const said: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void said.push(JSON.parse(line).msg) });
  const clocks = { wall: () => Date.now() + machine.off, elapsed: () => performance.now() };
  const folder = t.testdir();
  const opened = await open(t, { store, folder, clocks, log, fresh: off !== 0 });
  return Object.defineProperty({ ...opened, said, off }, "off", {
    get: () => machine.off,
    set: (off: number) => {
      machine.off = off;
    },
  });
}
