// A service calls another one with a caller assertion that the authority signs. The rules must
// grant the call to the service and to its caller.
import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { readAssertion } from "../../../src/access/assertions/caller-assertion.js";
import { RuleSet } from "../../../src/access/decide/rules.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { DelegationService } from "../../../src/gen/portico/auth/v1/delegation.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { endpointAt } from "../../access/endpoints.js";
import { readRule } from "../../access/read-rule.js";
import { ask, codeOf, joinAt, openTestGateway } from "../../access/test-gateway.js";
import { deferred } from "../../support/deferred.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { FaultyStore } from "./faulty-store.js";
import { openJournal } from "./open.js";

const PASSWORD = "a password for bob";
const FRONT = endpointAt("service:front:Front.Buy");
const ORDERS = endpointAt("service:orders:Orders.Add");
const { resource } = ORDERS;

/** Rules that let staff call both services, and the service `front` call the service `orders`. */
async function scene(...[t, options]: Parameters<typeof openTestGateway>) {
  const gateway = await openTestGateway(t, options);
  const { call, admin, guard } = gateway;
  const enrol = async (name: string): Promise<string> =>
    (await call(EnrolmentsService.create, { name, replace: false }, admin)).secret;
  const allow = (id: string, rule: string) => call(RulesService.create, { rule: readRule(rule, id) }, admin);
  await allow("staff", "staff granted *:*:*");
  await allow("front", "service:front granted service:orders:*");
  await call(RulesService.delete, { id: "default" }, admin);
  for (const [name, scopes] of Object.entries({ bob: ["staff"], eve: [] })) {
    await call(AccountsService.create, { name, password: PASSWORD, scopes }, admin);
  }
  const bob = await gateway.login("bob", PASSWORD);
  const [front, orders] = [await enrol("front"), await enrol("orders")];
  const issue = async (token: string, actingFor = "", at = resource): Promise<string> =>
    (await call(DelegationService.issue, { resource: at, actingFor, namespace: "" }, token)).context;
  /** The assertion that the gateway sends with a call by bob. */
  const received = async (at = FRONT): Promise<string> =>
    String(guard.assertionOf(await ask(guard, at, { token: bob })).metadata[0]?.[1]);
  return { ...gateway, allow, bob, front, orders, issue, received, service: await joinAt(t, gateway.channel, orders) };
}

t.test("a service calls for its own account, as its scope allows", async (t) => {
  const { issue, front, service } = await scene(t);
  const admission = await ask(service, ORDERS, { callerAssertion: await issue(front) });
  t.match(admission, { caller: { enrolment: "front", account: "" }, service: "front", namespace: "default" });
});

t.test("a service calls for its caller, and the called service learns of both", async (t) => {
  const { issue, front, service, received } = await scene(t);
  const admission = await ask(service, ORDERS, { callerAssertion: await issue(front, await received()) });
  t.match(admission, { caller: { account: "bob", scopes: ["staff"] }, service: "front" });
});

t.test("a service acts for a limited key only within the key's limits, and a refusal names them", async (t) => {
  const { issue, front, call, bob, guard } = await scene(t);
  const assertionOf = async (resources: string[]): Promise<string> => {
    const { secret } = await call(
      KeysService.create,
      { name: "deploy", lifetime: undefined, resources, from: [] },
      bob,
    );
    return String(guard.assertionOf(await ask(guard, FRONT, { token: secret })).metadata[0]?.[1]);
  };
  t.ok(await issue(front, await assertionOf(["service:front:*", "service:orders:*"])));
  await t.rejects(issue(front, await assertionOf(["service:front:*"])), {
    code: Code.PERMISSION_DENIED,
    message: "Forbidden call made to orders:Orders.Add by bob: API key deploy is limited to service:front:*",
  });
});

t.test("signs nothing that the rules do not grant", async (t) => {
  const { issue, front, orders, call, admin, bob, received } = await scene(t);
  const refused = { code: Code.UNAUTHENTICATED };
  await t.rejects(issue(orders, "", FRONT.resource), refused, "a service that no rule allows");
  const callersAssertion = await received();
  await call(AccountsService.setScopes, { name: "bob", scopes: [] }, admin);
  await t.rejects(issue(front, callersAssertion), refused, "a caller that no rule allows any more");
  await call(AccountsService.setScopes, { name: "bob", scopes: ["staff"] }, admin);
  t.ok(await issue(front, callersAssertion));
  await call(RulesService.delete, { id: "front" }, admin);
  await t.rejects(issue(front, callersAssertion), refused, "for a caller, where the service itself may not");
  await call(RulesService.create, { rule: readRule("service:front granted service:orders:*", "front") }, admin);
  await call(AuthService.logout, { everywhere: false }, bob);
  await t.rejects(issue(front, callersAssertion), refused, "a caller who has logged out");
});

t.test("only the service that a caller called may act for the caller", async (t) => {
  const { issue, front, orders, allow, received, enrolment, admin } = await scene(t);
  await allow("orders", "service:orders granted *:*:*");
  const callersAssertion = await received();
  const [payload = "", , mac = ""] = callersAssertion.split(".");
  const refused = { code: Code.UNAUTHENTICATED };
  await t.rejects(issue(orders, callersAssertion), refused, "another service that got hold of the assertion");
  await t.rejects(issue(front, `${payload}.${mac}.${mac}`), refused, "an assertion that the service made up");
  await t.rejects(issue(front, "none"), refused, "no assertion");
  await t.rejects(issue(enrolment, ""), { code: Code.PERMISSION_DENIED }, "a gateway signs by itself");
  await t.rejects(issue(admin, ""), { code: Code.PERMISSION_DENIED }, "an account is no service");
});

t.test("after its rule or the service's enrolment is deleted, nothing more is signed", async (t) => {
  const { issue, front, service, received, call, admin, allow } = await scene(t);
  const [own, acting] = [await issue(front), await issue(front, await received())];
  for (const callerAssertion of [own, acting]) t.equal(await codeOf(service, ORDERS, { callerAssertion }), Code.OK);
  await call(RulesService.delete, { id: "front" }, admin);
  for (const callerAssertion of [own, acting])
    t.equal(await codeOf(service, ORDERS, { callerAssertion }), Code.UNAUTHENTICATED);
  await allow("front", "service:front granted service:orders:*");
  t.equal(await codeOf(service, ORDERS, { callerAssertion: own }), Code.OK);
  const ended = new Promise<Error>((onRefused) => {
    void ask(service, ORDERS, { callerAssertion: acting }).then((admission) =>
      service.follow(admission, { onRefused, onResumed() {} }),
    );
  });
  await codeOf(service, ORDERS, { callerAssertion: acting });
  await call(EnrolmentsService.delete, { name: "front", id: "" }, admin);
  for (const callerAssertion of [own, acting])
    t.equal(await codeOf(service, ORDERS, { callerAssertion }), Code.UNAUTHENTICATED);
  t.match(await ended, { code: Code.UNAUTHENTICATED }, "a stream that it had opened for the caller");
});

t.test("nothing is signed for a service whose enrolment ends while the authority reads the log", async (t) => {
  const shared = openMemoryStore({ mayBeStale: true, time: Date.now });
  const store = new FaultyStore(shared);
  const { issue, front, received } = await scene(t, { store });
  const caller = await received();
  await issue(front, caller);
  const elsewhere = await openJournal(shared);
  const released = deferred<void>();
  store.onStep = (step) => (step === "before range log" ? released.promise : undefined);
  const issued = issue(front, caller);
  // The call is admitted before the authority can read of the deletion.
  await new Promise(setImmediate);
  const deleted = { name: "front", sha256: Buffer.alloc(0) };
  await elsewhere.commit(PORTICO, () => [{ $case: "enrolmentDeleted", value: deleted }]);
  released.resolve();
  await t.rejects(issued, { code: Code.UNAUTHENTICATED });
});

t.test("an assertion names no revision that only this reading of the log has shown", async (t) => {
  const shared = openMemoryStore({ mayBeStale: true, time: Date.now });
  const { issue, front } = await scene(t, { store: shared, leaseMs: 60_000 });
  const elsewhere = await openJournal(shared);
  // As a demoted primary of Postgres may show a change that is gone.
  const revision = await elsewhere.commit(PORTICO, () => [
    { $case: "ruleDeleted", value: { namespace: "default", id: "staff" } },
  ]);
  t.ok(Number(readAssertion(await issue(front))?.revision) < revision);
});

t.test("refuses endpoints of the authority, and resources that are not endpoints", async (t) => {
  const { issue, front } = await scene(t);
  for (const wrong of ["service:auth:Rules.List", "service:*:*", "*:*:*", "x", "queue:orders:Add"]) {
    await t.rejects(issue(front, "", wrong), { code: Code.INVALID_ARGUMENT }, wrong);
  }
});

t.test("rules are compiled once, and then follow each change", async (t) => {
  const { issue, front, call, admin, login } = await scene(t);
  const compile = t.capture(RuleSet, "compile", RuleSet.compile);
  const refused = { code: Code.UNAUTHENTICATED };
  await issue(front);
  await login("bob", PASSWORD);
  await issue(front);
  await call(RulesService.delete, { id: "front" }, admin);
  await t.rejects(issue(front), refused);
  await call(RulesService.create, { rule: readRule("service:front granted service:orders:*", "again") }, admin);
  await issue(front);
  t.equal(compile().length, 1);
});

t.test("a new namespace has no rules of an earlier namespace with the same name", async (t) => {
  const { front, call, admin, login } = await scene(t);
  const issue = () => call(DelegationService.issue, { resource, actingFor: "", namespace: "shop" }, front);
  const create = () => call(NamespacesService.create, { name: "shop" }, admin);
  const { adminPassword } = await create();
  const rule = readRule("service:front granted service:orders:*", "front");
  await call(RulesService.create, { rule }, await login("admin", adminPassword, "shop"));
  t.ok(await issue());
  await call(NamespacesService.delete, { name: "shop" }, admin);
  await create();
  await t.rejects(issue(), { code: Code.UNAUTHENTICATED });
});
