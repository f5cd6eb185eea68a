// A call that a service makes for itself counts where it arrives: no guard has seen it before. A
// call that it makes for a caller does not count again, also for a caller without a token.
import t from "tap";
import { LimitedError } from "../../src/call/limited-call.js";
import { DelegationService } from "../../src/gen/portico/auth/v1/delegation.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { LimitsService, Per } from "../../src/gen/portico/auth/v1/limits.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { endpointAt } from "../access/endpoints.js";
import { readRule } from "../access/read-rule.js";
import { ask, joinAt, openTestGateway } from "../access/test-gateway.js";
import { limitOf } from "./guards.js";

const FRONT = endpointAt("service:front:Front.Buy");
const ORDERS = endpointAt("service:orders:Orders.Add");

t.test("a limit counts the calls of a service for itself, and no others of it", async (t) => {
  const { call, admin, guard, channel } = await openTestGateway(t);
  const enrol = async (name: string) => (await call(EnrolmentsService.create, { name, replace: false }, admin)).secret;
  const [front, orders] = [await enrol("front"), await enrol("orders")];
  const rules = { everyone: "<public> granted *:*:*", front: "service:front granted service:orders:*" };
  for (const [id, rule] of Object.entries(rules)) await call(RulesService.create, { rule: readRule(rule, id) }, admin);
  const limit = limitOf({ id: "ci", rate: "2/d", burst: 2n, per: Per.EVERYONE, resource: "service:orders:*" });
  await call(LimitsService.create, { limit }, admin);
  const service = await joinAt(t, channel, orders);

  /** How many of three calls with one assertion the called service's guard lets pass. */
  const grantedOf = async (actingFor: string): Promise<number> => {
    const request = { resource: ORDERS.resource, actingFor, namespace: "" };
    const { context: callerAssertion } = await call(DelegationService.issue, request, front);
    let granted = 0;
    for (let made = 0; made < 3; made++) {
      const admission = await ask(service, ORDERS, { callerAssertion });
      try {
        await service.count(admission, { address: "192.0.2.1", asserted: true });
        granted++;
      } catch (error) {
        t.ok(error instanceof LimitedError, `${error}`);
      }
    }
    return granted;
  };
  const received = async (token?: string): Promise<string> =>
    String(guard.assertionOf(await ask(guard, FRONT, token === undefined ? {} : { token })).metadata[0]?.[1]);

  t.equal(await grantedOf(await received(admin)), 3, "for an account, whose call the gateway has counted");
  t.equal(await grantedOf(await received()), 3, "for a caller without a token");
  t.equal(await grantedOf(""), 2, "for itself");
});
