/**
 * A process that serves calls, but has a problem that its operator must fix, says so at `/readyz`.
 */
import t from "tap";
import { HealthRoutes } from "../../../gateway/built-in/health.js";

t.test("it is degraded, with the reasons, only while it is ready", async (t) => {
  const state = { isReady: true, faults: [] as string[] };
  const health = new HealthRoutes({ guard: () => state.isReady }, { errors: () => state.faults });
  t.same(health.reply("/readyz"), { status: 200, body: '{"Status":"ready"}' });
  state.faults = ["the disk is full", "the clock is wrong"];
  const body = '{"Status":"degraded","Reasons":["the disk is full","the clock is wrong"]}';
  t.same(health.reply("/readyz"), { status: 200, body });
  t.ok(health.isReady, "a load balancer goes on to send calls");
  state.isReady = false;
  t.equal(health.reply("/readyz")?.status, 503);
});
