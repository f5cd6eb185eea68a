// The guard of a service has only the rules that can match its calls, and decides as if it had all
// rules.

import t from "tap";
import { Access, type Rule, RuleSet } from "../../src/access/decide/rules.js";
import { coversService, matches, parsePattern } from "../../src/contract/resource.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { fc } from "../support/properties.js";
import { endpointAt } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { codeOf, joinAt, openTestGateway } from "./test-gateway.js";

const SERVICES = ["shop", "shopping", "sh", "bank", "b-1"];

/** Segments with the same beginnings as the resource, in both cases. */
const type = fc.constantFrom("service", "Service", "SERV*", "s*", "*", "service*", "job", "servicex", "j*");
const name = fc.constantFrom(
  "shop",
  "SHOP",
  "shop*",
  "sho*",
  "s*",
  "*",
  "shopping",
  "sh",
  "bank",
  "ba*",
  "b-1",
  "b-*",
  "x",
);
const part = fc.constantFrom("*", "Shop.Buy", "shop.*", "Shop.Sell", "s*");
const resource = fc.tuple(type, name, part).map((segments) => segments.join(":"));
const rules = fc
  .array(
    fc.record({
      scope: fc.constantFrom("<public>", "*", "staff", "team"),
      access: fc.constantFrom(Access.GRANTED, Access.DENIED),
      disabled: fc.constant(false),
      resource,
      priority: fc.integer({ min: -1, max: 2 }),
    }),
    { maxLength: 14 },
  )
  .map((list): Rule[] => list.map((rule, index) => ({ ...rule, id: `r${index}` })));
const call = fc.record({
  service: fc.constantFrom(...SERVICES),
  endpoint: fc.constantFrom("Shop.Buy", "Shop.Sell", "Other.Do"),
  scopes: fc.option(fc.subarray(["staff", "team"]), { nil: undefined }),
});

t.test("the rules for a service decide its calls as all rules do", async (t) => {
  fc.assert(
    fc.property(rules, call, (all, { service, endpoint, scopes }) => {
      const some = all.filter((rule) => coversService(rule.resource, service));
      const { segments } = endpointAt(`service:${service}:${endpoint}`);
      return RuleSet.compile(some).decide(segments, scopes) === RuleSet.compile(all).decide(segments, scopes);
    }),
    { numRuns: 5_000 },
  );
  t.pass("no counterexample");
});

t.test("a rule that matches no endpoint of a service is left out", async (t) => {
  fc.assert(
    fc.property(resource, fc.constantFrom(...SERVICES), (pattern, service) => {
      // The endpoint's own segment, as a literal if it has no wildcard.
      const { endpoint } = parsePattern(pattern);
      const called = { type: "service", name: service, endpoint: endpoint.replace("*", "x") };
      return coversService(pattern, service) === matches(parsePattern(pattern), called);
    }),
  );
  t.pass("no counterexample");
});

t.test("a service's guard receives the changes of its rules, and no others", async (t) => {
  const { call, channel, admin, guard } = await openTestGateway(t);
  const { secret: enrolment } = await call(EnrolmentsService.create, { name: "shop", replace: false }, admin);
  const shop = await joinAt(t, channel, enrolment, "shop");
  const buy = endpointAt("service:shop:Shop.Buy");
  const create = (rule: string, id: string) => call(RulesService.create, { rule: readRule(rule, id) }, admin);
  const equal = async (message: string): Promise<void> => {
    for (const token of [undefined, admin]) {
      // An assertion is only for one service. A token is looked up there as at the gateway.
      t.equal(await codeOf(shop, buy, { token }), await codeOf(guard, buy, { token }), message);
    }
  };
  await equal("the rule of the first start");
  await create("<public> denied service:bank:* 9", "bank");
  await equal("a rule of another service");
  await create("<public> denied service:sh*:* 9", "prefix");
  await equal("a prefix that covers it");
  t.equal(await codeOf(shop, buy), 16);
  await call(RulesService.delete, { id: "bank" }, admin);
  await call(RulesService.delete, { id: "prefix" }, admin);
  await equal("both deleted");
  t.equal(await codeOf(shop, buy), 0);
  await call(RulesService.delete, { id: "default" }, admin);
  await equal("no rule left");
});

t.test("a service's guard decides no calls to other services, because it lacks their rules", async (t) => {
  const { channel, enrolment } = await openTestGateway(t);
  const shop = await joinAt(t, channel, enrolment, "shop");
  t.equal(await codeOf(shop, endpointAt("service:shop:Shop.Buy")), 0);
  t.not(await codeOf(shop, endpointAt("service:bank:Bank.Pay")), 0);
  t.throws(() => shop.allows(undefined, "default", endpointAt("service:bank:Bank.Pay")), /the guard of shop/);
});
