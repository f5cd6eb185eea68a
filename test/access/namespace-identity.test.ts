// A namespace that was deleted and created again is another one, with its own ID, for every guard.
import t from "tap";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code } from "../../src/errors.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { listNamespacesOf } from "../../src/kit/namespace-data.js";
import { call as endpoint } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { start } from "./scripted-authority.js";
import { ask, codeOf, joinAt, openTestGateway } from "./test-gateway.js";

const namespace = "team";

async function scene(t: Parameters<typeof openTestGateway>[0]) {
  const gateway = await openTestGateway(t);
  const { call, admin, guard, channel } = gateway;
  const { secret: enrolment } = await call(EnrolmentsService.create, { name: "helloworld", replace: false }, admin);
  const join = () => joinAt(t, channel, enrolment, "helloworld");
  const service = await join();
  /**
   * Creates the namespace with a rule that admits everyone. Resolves to a token of its
   * administrator.
   */
  const create = async () => {
    const { adminPassword } = await call(NamespacesService.create, { name: namespace }, admin);
    const token = await gateway.login("admin", adminPassword, namespace);
    await call(RulesService.create, { rule: readRule("<public> granted *:*:*", "all") }, token);
    return token;
  };
  const list = listNamespacesOf({ channel, metadata: [["authorization", `Bearer ${enrolment}`]] });
  return {
    ...{ create, join, guard, service },
    remove: () => call(NamespacesService.delete, { name: namespace }, admin),
    idOf: async (name: string) => (await list()).ids.get(name),
    /** The assertion that a gateway sends with a call. */
    assertionOf: async (shown: Parameters<typeof ask>[2]) =>
      String(guard.assertionOf(await ask(guard, endpoint, { namespace, ...shown })).metadata[0]?.[1]),
  };
}

t.test("a call with a token, with an assertion or without both has the ID of its namespace", async (t) => {
  const { create, guard, service, assertionOf, idOf, join } = await scene(t);
  const token = await create();
  const id = await idOf(namespace);
  t.match(id, /^[0-9a-f-]{36}$/);
  const shown = {
    "a token at the gateway": [guard, { token }],
    "nothing at the gateway": [guard, { namespace }],
    "a token at the service": [service, { token }],
    "nothing at the service": [service, { namespace }],
    "an assertion of a caller": [service, { callerAssertion: await assertionOf({ token }) }],
    "an assertion of nobody": [service, { callerAssertion: await assertionOf({}) }],
    "an assertion at a service that was down meanwhile": [
      await join(),
      { callerAssertion: await assertionOf({ token }) },
    ],
    "a token at a service that was down meanwhile": [await join(), { token }],
  } as const;
  for (const [title, [at, credentials]] of Object.entries(shown)) {
    t.equal((await ask(at, endpoint, credentials)).namespaceId, id, title);
  }
});

t.test("the namespace default has no ID", async (t) => {
  const { service, guard, assertionOf, idOf } = await scene(t);
  t.equal(await idOf("default"), "");
  t.equal((await ask(service, endpoint)).namespaceId, "");
  t.equal((await ask(guard, endpoint)).namespaceId, "");
  const callerAssertion = await assertionOf({ namespace: "default" });
  t.equal((await ask(service, endpoint, { callerAssertion })).namespaceId, "");
});

t.test("assertions signed before a deletion are refused in the new namespace", async (t) => {
  const { create, remove, guard, service, assertionOf, idOf, join } = await scene(t);
  const token = await create();
  const before = await idOf(namespace);
  const ofCaller = await assertionOf({ token });
  const ofNobody = await assertionOf({});
  await ask(service, endpoint, { callerAssertion: ofNobody });
  await remove();
  t.equal(await codeOf(service, endpoint, { callerAssertion: ofNobody }), Code.UNAUTHENTICATED, "deleted");
  const anew = await create();
  const id = await idOf(namespace);
  t.not(id, before);
  for (const at of [service, await join()]) {
    t.equal(await codeOf(at, endpoint, { callerAssertion: ofNobody }), Code.UNAVAILABLE, "of nobody");
    t.equal(await codeOf(at, endpoint, { callerAssertion: ofCaller }), Code.UNAUTHENTICATED, "of a caller");
    t.equal((await ask(at, endpoint, { token: anew })).namespaceId, id);
    t.equal((await ask(at, endpoint, { callerAssertion: await assertionOf({}) })).namespaceId, id, "signed anew");
  }
  t.equal((await ask(guard, endpoint, { namespace })).namespaceId, id);
});

t.test("rules of the old namespace do not decide calls of callers of the new one", async (t) => {
  const { script, guard } = await start(t, { rules: ["<public> granted *:*:*"] });
  await guard.ready();
  const token = createToken("access");
  script.callers.set(hashToken(token).toString("hex"), { namespaceId: "new" });
  const refused = { code: Code.UNAVAILABLE, message: /the namespace default was created anew a moment ago; try again/ };
  await t.rejects(ask(guard, endpoint, { token }), refused);
  script.change(
    { $case: "namespaceDeleted", value: { namespace: "default" } },
    {
      $case: "ruleCreated",
      value: { namespace: "default", namespaceId: "new", rule: readRule("<public> granted *:*:*", "anew") },
    },
  );
  await script.until(() => script.stream.applied.includes(script.revision));
  t.equal((await ask(guard, endpoint, { token })).namespaceId, "new");
});
