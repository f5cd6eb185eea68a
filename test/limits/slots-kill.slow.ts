// A guard that is killed holds its slots of a `concurrent` limit until the longest call that it may
// have left open has ended, then they are free. An authority that starts anew lends no slot that a
// guard still holds.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { FULL } from "../support/full.js";
import { freePort } from "../support/ports.js";
import { call, login, start } from "../support/process.js";
import { until } from "../support/until.js";
import { GuardProcess } from "./bound.js";

const MAX_CALL_MS = 2_000;
const SLOTS = 4;

interface Limited {
  readonly stop: (signal: NodeJS.Signals) => Promise<unknown>;
  readonly start: () => Promise<void>;
  /** Starts a guard. Its calls stay open as long as it runs. */
  readonly guard: () => Promise<GuardProcess>;
}

/** Starts an authority with one limit. */
async function startLimited(t: Test): Promise<Limited> {
  const data = t.testdir();
  const authority = `127.0.0.1:${await freePort()}`;
  const times = { PORTICO_CALL_TIME: "2s", PORTICO_MAX_CALL_TIME: "2s" };
  const run = () => start(["server"], { PORTICO_DATA: data, PORTICO_GRPC: authority, ...times });
  let server = await run();
  t.teardown(() => server.stop("SIGKILL"));
  const http = server.address("HTTP");
  // The longest call time is short for a login on a busy machine.
  const admin = await login(http, readFileSync(join(data, "admin-password"), "utf8").trim(), [503, 504]);
  const created = await call(`${http}/auth/enrolments.create`, { name: "gateway" }, admin);
  const { secret: token } = created.body as { secret: string };
  const limit = { id: "few", concurrent: SLOTS, per: "EVERYONE" };
  t.equal((await call(`${http}/auth/limits.create`, { limit }, admin)).status, 200);
  return {
    stop: (signal) => server.stop(signal),
    start: async () => {
      server = await run();
    },
    guard: () => new GuardProcess(t, { authority: [authority], token, perSecond: 40 }).ready(),
  };
}

/** A guard that has all slots, and one that has none. */
async function startGuards(t: Test, { guard }: Limited): Promise<[first: GuardProcess, second: GuardProcess]> {
  const first = await guard();
  await until(() => first.moments.length === SLOTS, { what: () => "the first guard has all slots" });
  const second = await guard();
  await until(() => second.calls.length >= 40, { what: () => "calls of the second guard are refused" });
  t.same(second.moments, [], "all slots are taken");
  return [first, second];
}

t.test("kill -9 of a guard with open calls", async (t) => {
  const [first, second] = await startGuards(t, await startLimited(t));
  const killed = performance.timeOrigin + performance.now();
  await first.kill();
  await until(() => second.moments.length >= SLOTS, { what: () => "the slots are free again" });
  const [earliest = 0] = second.moments;
  t.ok(earliest - killed >= MAX_CALL_MS - 50, `free ${Math.round(earliest - killed)} ms after the kill`);
  t.ok(earliest - killed <= MAX_CALL_MS + 3_000, "and not much later");
  t.equal(first.moments.length, SLOTS);
  t.equal(second.moments.length, SLOTS, "and no more");
});

t.test("kill -9 of the authority while calls are open", { skip: !FULL && "at full length only" }, async (t) => {
  const limited = await startLimited(t);
  const [first, second] = await startGuards(t, limited);
  await limited.stop("SIGKILL");
  await limited.start();
  const started = performance.timeOrigin + performance.now();
  const isRefused = (): boolean => second.calls.some(({ at, outcome }) => outcome === "refused" && at > started);
  await until(isRefused, { what: () => "the new authority refuses" });
  const refused = second.calls.length;
  await until(() => second.calls.length > refused + 40, { what: () => "it does so for a second" });
  t.equal(first.moments.length + second.moments.length, SLOTS, "no slot was lent twice");
});
