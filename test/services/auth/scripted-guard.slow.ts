// A scripted guard comes back after an authority on a busy computer refused it. Otherwise a test
// would wait for its lease forever.
import t from "tap";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { until } from "../../support/until.js";
import { again } from "./again.js";
import { open } from "./open.js";
import { ScriptedGuard } from "./scripted-guard.js";

const LEASE = 1_000;

/** Keeps the process from doing anything else. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

t.test("a scripted guard comes back if the authority's own guard had no lease at its first attempt", async (t) => {
  const at = await open(t, { leaseMs: LEASE });
  const request = { name: "gateway", replace: true };
  const token = await again(() => at.login());
  const { secret } = await again(() => at.call(EnrolmentsService.create, request, token));
  block(2 * LEASE);
  const guard = new ScriptedGuard(t, at.channel, { enrolment: secret });
  await until(() => guard.ended !== undefined);
  await until(() => guard.decides, { what: () => `the guard decides: ${guard.status}` });
});
