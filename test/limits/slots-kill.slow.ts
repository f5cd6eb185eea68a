// A guard that is killed holds its slots of a `concurrent` limit until the longest call that it may
// have left open has ended, then they are free.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { call, login, start } from "../support/process.js";
import { until } from "../support/until.js";
import { GuardProcess } from "./bound.js";

const MAX_CALL_MS = 2_000;
const SLOTS = 4;

t.test("kill -9 of a guard with open calls", async (t) => {
  const data = t.testdir();
  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_CALL_TIME: "2s", PORTICO_MAX_CALL_TIME: "2s" });
  t.teardown(() => server.stop("SIGKILL"));
  const http = server.address("HTTP");
  // The longest call time is short for a login on a busy machine.
  const admin = await login(http, readFileSync(join(data, "admin-password"), "utf8").trim(), [503, 504]);
  const created = await call(`${http}/auth/enrolments.create`, { name: "gateway" }, admin);
  const { secret: token } = created.body as { secret: string };
  const limit = { id: "few", concurrent: SLOTS, per: "EVERYONE" };
  t.equal((await call(`${http}/auth/limits.create`, { limit }, admin)).status, 200);

  const authority = [server.address("gRPC")];
  // Their calls stay open as long as the guard runs.
  const first = await new GuardProcess(t, { authority, token, perSecond: 40 }).ready();
  await until(() => first.moments.length === SLOTS, { what: () => "the first guard has all slots" });
  const second = await new GuardProcess(t, { authority, token, perSecond: 40 }).ready();
  await until(() => second.calls.length >= 40, { what: () => "calls of the second guard are refused" });
  t.same(second.moments, [], "all slots are taken");

  const killed = performance.timeOrigin + performance.now();
  await first.kill();
  await until(() => second.moments.length >= SLOTS, { what: () => "the slots are free again" });
  const [earliest = 0] = second.moments;
  t.ok(earliest - killed >= MAX_CALL_MS - 50, `free ${Math.round(earliest - killed)} ms after the kill`);
  t.ok(earliest - killed <= MAX_CALL_MS + 3_000, "and not much later");
  t.equal(first.moments.length, SLOTS);
  t.equal(second.moments.length, SLOTS, "and no more");
});
