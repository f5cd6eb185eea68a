// A caller assertion stands for its caller at one endpoint of one service, while the lease in which
// it was signed runs.
import t from "tap";
import { readAssertion, signAssertion } from "../../src/access/assertions/caller-assertion.js";
import type { KnownCaller } from "../../src/access/callers/known-caller.js";
import type { OpenGuard } from "../../src/access/guard.js";
import { CONTEXT } from "../../src/call/metadata.js";
import { Callers, type Endpoint } from "../../src/contract/endpoint.js";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import type { CallContext } from "../../src/gen/portico/auth/v1/delegation.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { type ContextKey, PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import type { Channel } from "../../src/rpc/channel.js";
import { stream } from "../../src/rpc/client.js";
import { declaring, call as endpoint, endpointAt } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { ask, codeOf, joinAt, openTestGateway, type TestGateway } from "./test-gateway.js";

const PASSWORD = "a password for bob";

/** The keys that the authority sends for a token. */
async function keysOf(channel: Channel, token: string): Promise<ContextKey[]> {
  const watch = stream(channel, PolicyService.watch, { metadata: [["authorization", `Bearer ${token}`]] });
  watch.send({ message: { $case: "start", value: { service: "", restrictions: [] } } });
  for await (const { message } of watch.responses) {
    if (message?.$case === "snapshot" && message.value.last) return message.value.contextKeys;
  }
  throw new Error("no snapshot came");
}

interface Scene extends TestGateway {
  /** The token and the guard of the service helloworld. */
  readonly token: string;
  readonly service: OpenGuard;
  /** A token of bob, who has the scope that the one rule grants access to. */
  readonly bob: string;
  /** The assertion that the gateway sends with bob's call. */
  callerAssertion(at?: Endpoint): Promise<string>;
  enrol(name: string): Promise<string>;
}

async function scene(t: Parameters<typeof openTestGateway>[0]): Promise<Scene> {
  const gateway = await openTestGateway(t);
  const { call, admin, guard } = gateway;
  const enrol = async (name: string): Promise<string> =>
    (await call(EnrolmentsService.create, { name, replace: false }, admin)).secret;
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: ["staff"] }, admin);
  await call(RulesService.create, { rule: readRule("staff granted *:*:*", "staff") }, admin);
  await call(RulesService.delete, { id: "default" }, admin);
  const bob = await gateway.login("bob", PASSWORD);
  const token = await enrol("helloworld");
  const callerAssertion = async (at = endpoint): Promise<string> => {
    const [entry] = guard.assertionOf(await ask(guard, at, { token: bob })).metadata;
    return String(entry?.[1]);
  };
  return { ...gateway, token, bob, service: await joinAt(t, gateway.channel, token), callerAssertion, enrol };
}

t.test("a service gets the caller from an assertion that the gateway signed", async (t) => {
  const { service, callerAssertion } = await scene(t);
  const { caller, namespace } = await ask(service, endpoint, { callerAssertion: await callerAssertion() });
  t.match({ caller, namespace }, { caller: { account: "bob", scopes: ["staff"] }, namespace: "default" });
});

t.test("a gateway caches assertions of callers that call often, and signs new ones for others", async (t) => {
  const { guard, bob } = await scene(t);
  const sign = async () => guard.assertionOf(await ask(guard, endpoint, { token: bob })).metadata;
  const seldom = async () => {
    const admission = await ask(guard, endpoint, { token: bob });
    const caller = admission.caller as KnownCaller;
    caller.signedAt -= 5_000;
    return guard.assertionOf(admission).metadata;
  };
  const rare = [await sign(), await seldom(), await seldom()].map(([entry]) => entry);
  t.equal(new Set(rare).size, 3, "five seconds apart");
  const often = [await sign(), await sign(), await sign()].map(([entry]) => entry);
  t.equal(new Set(often).size, 1, "at once");
  t.not(often[0], rare[2], "the first one since is kept");
});

t.test(
  "a service verifies an assertion once for the two admissions of a call, and again for a later call",
  async (t) => {
    const { service, callerAssertion, channel, token } = await scene(t);
    const [own] = await keysOf(channel, token);
    const key = { generation: Number(own?.generation), secret: own?.key as Buffer };
    const first = await callerAssertion();
    const told = readAssertion(first) as CallContext;
    const verify = async (callerAssertion: string, opened = false) =>
      (await ask(service, endpoint, { callerAssertion, opened })).caller;
    const callers = [await verify(first), await verify(first, true)];
    t.equal(callers[1], callers[0], "the two admissions of one call");
    // An assertion that replaces `first` among the latest ones: the fourth character from the end
    // selects the slot.
    let other = first;
    for (let expires = told.expires; other.at(-4) !== first.at(-4) || other.at(-3) === first.at(-3); expires++) {
      other = signAssertion({ ...told, expires }, key, Buffer.alloc(32));
    }
    await verify(other);
    callers.push(await verify(first));
    t.not(callers[2], callers[0], "a call that comes after others");
    await verify(other);
    t.equal(await verify(first), callers[2], "it is kept from its second call on");
  },
);

t.test("an assertion that is read late has the state at the admission of its call", async (t) => {
  const { guard, service, bob, call, admin } = await scene(t);
  const admission = await ask(guard, endpoint, { token: bob });
  const told = readAssertion(String(guard.assertionOf(admission).metadata[0]?.[1])) as CallContext;
  const late = guard.assertionOf(admission);
  await call(AccountsService.setScopes, { name: "bob", scopes: [] }, admin);
  const callerAssertion = String(late.metadata[0]?.[1]);
  t.equal(late.metadata[0]?.[1], callerAssertion, "it is signed once");
  const { caller, revision } = readAssertion(callerAssertion) as CallContext;
  t.same({ caller, revision }, { caller: told.caller, revision: told.revision });
  t.equal(
    await codeOf(service, endpoint, { callerAssertion }),
    Code.UNAUTHENTICATED,
    "its caller has lost the scope since",
  );
});

t.test("an assertion contains no token", async (t) => {
  const { guard, bob } = await scene(t);
  const sign = async () => guard.assertionOf(await ask(guard, endpoint, { token: bob })).metadata;
  const [entry] = await sign();
  t.equal(entry?.[0], CONTEXT);
  t.notMatch(entry?.[1], bob);
  t.ok(String(entry?.[1]).length < 400, `${String(entry?.[1]).length} characters`);
});

t.test("a service receives only its own key, gateways receive the root key", async (t) => {
  const { channel, token, enrolment } = await scene(t);
  t.same(
    (await keysOf(channel, token)).map(({ name }) => name),
    ["helloworld"],
  );
  const [root] = await keysOf(channel, enrolment);
  t.equal(root?.name, "gateway");
  t.notSame((await keysOf(channel, token))[0]?.key, root?.key);
});

t.test("an assertion that is not signed for this call is refused", async (t) => {
  const { service, callerAssertion, channel, token, enrol } = await scene(t);
  const other = await enrol("other");
  const elsewhere = await joinAt(t, channel, other);
  const good = await callerAssertion();
  const [payload = "", ticket = "", mac = ""] = good.split(".");
  const told = readAssertion(good) as CallContext;
  const [own] = await keysOf(channel, token);
  const key = { generation: Number(own?.generation), secret: own?.key as Buffer };
  const [theirs] = await keysOf(channel, other);
  const othersKey = { generation: Number(theirs?.generation), secret: theirs?.key as Buffer };
  const signed = (changes: Partial<CallContext>, by = key) =>
    signAssertion({ ...told, ...changes }, by, Buffer.alloc(32));

  t.equal(
    await codeOf(service, endpoint, { callerAssertion: signed({}) }),
    Code.OK,
    "signed by the service's own key it is good",
  );
  const past = BigInt(Date.now() - 1);
  const toldCaller = told.caller as NonNullable<CallContext["caller"]>;
  const ended = { seconds: past / 1000n - 1n, nanos: 0 };
  const tooLate = await codeOf(service, endpoint, { callerAssertion: signed({ expires: past }) });
  t.equal(tooLate, Code.UNAVAILABLE, "one that outlived its lease: nothing is wrong with the caller");
  const late = { callerAssertion: signed({ expires: past }), opened: true };
  t.equal(await codeOf(service, endpoint, late), Code.OK, "one that expired after its call was opened, too");
  const withoutToken = signed({ expires: past, caller: { ...toldCaller, expires: ended } });
  const tooLong = { callerAssertion: withoutToken, opened: true };
  t.equal(await codeOf(service, endpoint, tooLong), Code.UNAUTHENTICATED, "but not where its caller's token expired");
  const flip = (text: string, at: number): string =>
    `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
  const REFUSED: [what: string, callerAssertion: string, at?: [OpenGuard, Endpoint]][] = [
    ["an empty one", ""],
    ["no assertion at all", "x"],
    ["three dots", "..."],
    ["one cut short", good.slice(0, -1)],
    ["one with more behind it", `${good}A`],
    ["a payload without signature", payload],
    ["a payload with its ticket alone", `${payload}.${ticket}`],
    ["the ticket for the signature", `${payload}.${mac}.${ticket}`],
    ["one without ticket", `${payload}..${mac}`],
    ["one signed by another service's key", signed({}, othersKey)],
    ["one signed by no key", signed({}, { generation: key.generation, secret: Buffer.alloc(32) })],
    [
      "one that has expired with its caller's token",
      signed({ expires: past, caller: { ...toldCaller, expires: ended } }),
    ],
    ["one of another namespace than its caller's", signed({ namespace: "other" })],
    ["one of another endpoint", good, [service, endpointAt("service:helloworld:Helloworld.Stream")]],
    ["one of another service", good, [elsewhere, endpointAt("service:other:Helloworld.Call")]],
    ["one at an endpoint of the authority", good, [service, declaring(Callers.ACCOUNT)]],
  ];
  for (const [what, callerAssertion, [guard, at] = [service, endpoint]] of REFUSED) {
    t.equal(await codeOf(guard, at, { callerAssertion }), Code.UNAUTHENTICATED, what);
  }
  const flipped = Array.from(good, (_, at) => flip(good, at));
  const codes = await Promise.all(flipped.map((callerAssertion) => codeOf(service, endpoint, { callerAssertion })));
  t.notOk(codes.includes(Code.OK), "no character may be another");
});

t.test("an enrolment named like the authority cannot sign an assertion for it", async (t) => {
  const it = await scene(t);
  const probe = declaring(Callers.ADMIN);
  const [key] = await keysOf(it.channel, await it.enrol("auth"));
  const told = readAssertion(await it.callerAssertion()) as CallContext;
  const caller = { ...told.caller, scopes: ["admin"] } as CallContext["caller"];
  const forged = { ...told, caller, resource: probe.resource, generation: key?.generation ?? 0n };
  const by = { generation: Number(key?.generation), secret: key?.key as Buffer };
  // A guard of a gateway in the authority's own process knows every key.
  const callerAssertion = signAssertion(forged, by, Buffer.alloc(32));
  t.equal(await codeOf(it.guard, probe, { callerAssertion }), Code.UNAUTHENTICATED);
  const orders = endpointAt("service:auth:Orders.Get");
  const sound = signAssertion({ ...forged, resource: orders.resource }, by, Buffer.alloc(32));
  t.not(
    await codeOf(it.guard, orders, { callerAssertion: sound }),
    Code.UNAVAILABLE,
    "the key itself is the right one",
  );
});

t.test("a removed permission stays removed even if an assertion still has it", async (t) => {
  const it = await scene(t);
  const callerAssertion = await it.callerAssertion();
  const fresh = await it.callerAssertion(endpointAt("service:helloworld:Helloworld.Stream"));
  t.equal(await codeOf(it.service, endpoint, { callerAssertion }), Code.OK);
  await it.call(AccountsService.setScopes, { name: "bob", scopes: [] }, it.admin);
  t.equal(
    await codeOf(it.service, endpoint, { callerAssertion }),
    Code.UNAUTHENTICATED,
    "a scope, by an assertion that is known",
  );
  const stream = endpointAt("service:helloworld:Helloworld.Stream");
  t.equal(await codeOf(it.service, stream, { callerAssertion: fresh }), Code.UNAUTHENTICATED, "and by one that is not");
  await it.call(AccountsService.setScopes, { name: "bob", scopes: ["staff"] }, it.admin);
  t.equal(await codeOf(it.service, endpoint, { callerAssertion }), Code.OK, "and what was given again");
  await it.call(RulesService.delete, { id: "staff" }, it.admin);
  t.equal(await codeOf(it.service, endpoint, { callerAssertion }), Code.UNAUTHENTICATED, "a rule");
});

t.test("an assertion becomes invalid with its caller's token", async (t) => {
  const it = await scene(t);
  const callerAssertion = await it.callerAssertion();
  t.equal(await codeOf(it.service, endpoint, { callerAssertion }), Code.OK);
  await it.call(AuthService.logout, { everywhere: false }, it.bob);
  t.equal(await codeOf(it.service, endpoint, { callerAssertion }), Code.UNAUTHENTICATED);
});

for (const [whose, name] of [
  ["the service's", "helloworld"],
  ["a gateway's", "gateway"],
] as const) {
  t.test(`when ${whose} enrolment is deleted, assertions signed by its key become invalid`, async (t) => {
    const it = await scene(t);
    const thief = await it.enrol(name);
    const [key] = await keysOf(it.channel, it.token);
    const before = await it.callerAssertion();
    t.equal(await codeOf(it.service, endpoint, { callerAssertion: before }), Code.OK);
    await it.call(EnrolmentsService.delete, { name, id: thief.slice(0, 10) }, it.admin);
    t.not(await codeOf(it.service, endpoint, { callerAssertion: before }), Code.OK);
    const forged = signAssertion(
      { ...(readAssertion(before) as CallContext), generation: 1_000_000n, expires: BigInt(Date.now() + 1_000) },
      { generation: 0, secret: key?.key as Buffer },
      Buffer.alloc(32),
    );
    t.equal(
      await codeOf(it.service, endpoint, { callerAssertion: forged }),
      Code.UNAUTHENTICATED,
      "whatever generation it names",
    );
    t.equal(
      await codeOf(it.service, endpoint, { callerAssertion: await it.callerAssertion() }),
      Code.OK,
      "the gateway signs anew",
    );
  });
}
