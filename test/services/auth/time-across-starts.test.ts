/** What has expired stays expired, whatever the machine's clock does, also between starts. */
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { isGood, open } from "./open.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A machine on whose store authorities start one after the other. */
function machine(t: Test) {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const time = { wall: Date.UTC(2026, 10, 22), elapsed: 0 };
  const clocks = { wall: () => time.wall, elapsed: () => time.elapsed };
  const start = (options: { acceptTime?: true } = {}) => open(t, { store, clocks, ...options });
  const pass = (ms: number): void => {
    time.wall += ms;
    time.elapsed += ms;
  };
  return { store, time, start, pass };
}

const REFUSED = { code: Code.UNAVAILABLE, message: /its clock is wrong: it says 2026-11-2\dT/ };

t.test("a token that has expired stays expired when the clock goes back by two hours", async (t) => {
  const { time, start, pass } = machine(t);
  const opened = await start();
  const token = await opened.login();
  pass(HOUR + 1);
  t.notOk(await isGood(opened, token));
  time.wall -= 2 * HOUR;
  t.notOk(await isGood(opened, token));
  t.ok(await isGood(opened, await opened.login()), "and new ones are given, and good");
});

t.test("a token that has expired stays expired if the authority restarts with the clock two hours back", async (t) => {
  const { time, start, pass } = machine(t);
  const before = await start();
  const token = await before.login();
  pass(HOUR + 1);
  await before.close();
  time.wall -= 2 * HOUR;
  const after = await start();
  t.notOk(await isGood(after, token));
  t.ok(await isGood(after, await after.login()));
});

t.test("a jump by two days is not trusted: calls continue, changes are refused until it is undone", async (t) => {
  for (const jump of [2 * DAY, -2 * DAY]) {
    const { time, start } = machine(t);
    const opened = await start();
    const token = await opened.login();
    time.wall += jump;
    t.ok(await isGood(opened, token));
    await t.rejects(opened.login(), REFUSED);
    await t.rejects(opened.call(AuthService.logout, { everywhere: false }, token), REFUSED);
    time.wall -= jump;
    t.ok(await isGood(opened, await opened.login()));
  }
});

t.test("a start with the clock two days back uses the store's time until the clock is right", async (t) => {
  const { time, start } = machine(t);
  const before = await start();
  const token = await before.login();
  await before.close();
  time.wall -= 2 * DAY;
  const after = await start();
  t.ok(await isGood(after, token));
  await t.rejects(after.login(), REFUSED);
  t.match(after.authority.errors(), [/clock/], "the operator gets the reason");
  const refused = () => [...after.authority.measures.refused].filter(([, count]) => count > 0);
  t.same(refused(), [["clock", 1]], "the metrics count it");
  time.wall += 2 * DAY;
  t.ok(await isGood(after, await after.login()));
  t.same(after.authority.errors(), []);
  t.same(refused(), [["clock", 1]]);
});

t.test("an operator can accept a clock that went back, for all later starts", async (t) => {
  const { time, start } = machine(t);
  const before = await start();
  await before.login();
  await before.close();
  time.wall -= 2 * DAY;
  const accepting = await start({ acceptTime: true });
  const token = await accepting.login();
  t.ok(await isGood(accepting, token));
  await accepting.close();
  const after = await start();
  t.ok(await isGood(after, token));
  t.ok(await isGood(after, await after.login()));
});

t.test("a start after days trusts the clock", async (t) => {
  const { start, pass } = machine(t);
  const before = await start();
  const token = await before.login();
  await before.close();
  pass(3 * DAY);
  const after = await start();
  t.notOk(await isGood(after, token));
  t.ok(await isGood(after, await after.login()));
});
