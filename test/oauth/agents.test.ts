// An agent that calls for a person has the person's scopes and `agent:<client>`. Rules can take
// away by that name, and give nothing that the person has not.
import t from "tap";
import { chainOfRefusal } from "../../services/auth/endpoints/chain.js";
import { calledWith } from "../../src/call/caller.js";
import { agentScopeOf } from "../../src/contract/scope.js";
import { Reason } from "../../src/gen/portico/auth/v1/refusals.js";
import { LinkState } from "../../src/gen/portico/auth/v1/rules.js";
import { openDoor } from "./browser.js";
import { type Granted, grantTo, register } from "./granted.js";

const ANN = { account: "ann", password: "a long password" };
const HELLO = "service:helloworld:*";

t.test("an agent is named by its client", (t) => {
  for (const [client, scope] of [
    ["https://claude.ai/oauth/client.json", "agent:claude.ai"],
    ["https://CLAUDE.ai/other", "agent:claude.ai"],
    ["http://127.0.0.1:8123/client", "agent:127.0.0.1:8123"],
    ["app", "agent:app"],
    ["team.app", "agent:app"],
  ] as const) {
    t.equal(agentScopeOf(client), scope);
  }
  t.end();
});

/** Ann may call helloworld. She has let two programs call for her. */
async function opened(t: Parameters<typeof openDoor>[0], options?: Parameters<typeof openDoor>[1]) {
  const door = await openDoor(t, options);
  await door.auth("Accounts/Create", { name: ANN.account, password: ANN.password, scopes: ["staff"] });
  const rule = (id: string, scope: string, access: string, resource: string, priority = 0) =>
    door.auth("Rules/Create", { rule: { id, scope, access, resource, priority } });
  await door.auth("Rules/Delete", { id: "default" });
  await rule("staff", "staff", "GRANTED", HELLO);
  const agents: Record<string, Granted> = {};
  for (const client of ["app", "other"]) {
    await register(door, client);
    agents[client] = await grantTo(door, { client, person: ANN });
  }
  const login = await fetch(`${door.url}/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(ANN),
  });
  const { accessToken } = (await login.json()) as { accessToken: string };
  const { grants } = await door.auth<{ grants: { id: string; clientId: string }[] }>("Grants/List");
  const grantOf = (client: string): string => grants.find(({ clientId }) => clientId === client)?.id ?? "";
  return { door, rule, ann: accessToken, agents, grantOf };
}

type Rule = [id: string, scope: string, access: string, resource: string, priority?: number];

for (const [what, rules, path, expected] of [
  ["without rules that name it, it may do what she may", [], "helloworld", { ann: 200, app: 200, other: 200 }],
  [
    "a rule that denies it leaves her and other agents alone",
    [["no-app", "agent:app", "DENIED", HELLO]],
    "helloworld",
    { ann: 200, app: 403, other: 200 },
  ],
  [
    "a rule that grants to it gives nothing that she has not",
    [["app", "agent:app", "GRANTED", "service:probe:*", 10]],
    "probe",
    { ann: 401, app: 401, other: 401 },
  ],
  [
    "also where a rule denies it to her",
    [
      ["nobody", "*", "DENIED", HELLO, 5],
      ["app", "agent:app", "GRANTED", HELLO, 10],
    ],
    "helloworld",
    { ann: 403, app: 403, other: 403 },
  ],
  [
    "the priority decides between rules that name it",
    [
      ["no-app", "agent:app", "DENIED", "service:*:*", 5],
      ["hello", "agent:app", "GRANTED", HELLO, 10],
    ],
    "helloworld",
    { ann: 200, app: 200, other: 200 },
  ],
] as [string, Rule[], string, Record<string, number>][]) {
  t.test(what, async (t) => {
    const { door, rule, ann, agents, grantOf } = await opened(t);
    for (const one of rules) await rule(...one);
    const tokens = { ann, app: agents.app!.access_token, other: agents.other!.access_token };
    for (const [who, token] of Object.entries(tokens)) {
      t.equal(await door.statusOf(token, `/v1/${path}/call`), expected[who], who);
      const resource = `service:${path}:${path === "probe" ? "Probe" : "Helloworld"}.Call`;
      const asked = who === "ann" ? { account: "ann" } : { grant: grantOf(who) };
      const explained = await door.auth<{ code: number; chain: { name: string; detail: string }[] }>("Rules/Explain", {
        ...asked,
        resource,
      });
      t.equal(explained.code, expected[who], `explain says the same of ${who}`);
      const agent = who === "ann" ? "of ann" : `of ann, for whom agent:${who} calls`;
      t.equal(explained.chain[0]?.detail, agent);
    }
  });
}

t.test("what she did not tick stays refused, whatever rules grant", async (t) => {
  const { door, rule, grantOf } = await opened(t);
  await register(door, "narrow");
  const { access_token: token } = await grantTo(door, { client: "narrow", person: ANN, scope: "service:probe:*" });
  await rule("narrow", "agent:narrow", "GRANTED", "*:*:*", 100);
  t.equal(await door.statusOf(token), 403);
  const { grants } = await door.auth<{ grants: { id: string; clientId: string }[] }>("Grants/List");
  const grant = grants.find(({ clientId }) => clientId === "narrow")?.id;
  const resource = "service:helloworld:Helloworld.Call";
  t.match(await door.auth("Rules/Explain", { grant, resource }), {
    ...{ code: 403, limited: true },
    chain: [{}, {}, { name: "limits", detail: "limit: agent:narrow for ann may call only service:probe:*" }, {}],
  });
  for (const asked of [{ grant: "g0" }, { grant, account: "admin" }]) {
    await t.rejects(door.auth("Rules/Explain", { ...asked, resource }), /no grant with the ID/);
  }
  await t.rejects(door.auth("Rules/Explain", { grant: grantOf("app"), key: "x", resource }), /ask for one of the two/);
});

t.test("refusals, usage and the audit trail say for whom which agent called", async (t) => {
  const refused: object[] = [];
  const counted: string[] = [];
  const { door, rule, agents } = await opened(t, {
    refusals: { record: ({ refused: cause }) => refused.push(cause) },
    usage: {
      record: (_endpoint, _namespace, _requested, _status, _seconds, caller) =>
        counted.push(caller === undefined ? "" : `${caller.account} ${calledWith(caller)}`),
    },
  });
  await door.statusOf(agents.app!.access_token);
  t.ok(counted.includes("ann agent:app"));
  await rule("no-app", "agent:app", "DENIED", HELLO);
  await door.statusOf(agents.app!.access_token);
  t.match(refused.at(-1), { account: "ann", key: "agent:app", reason: "RULE", cause: "no-app" });
  const { access_token: admin } = await grantTo(door, { client: "app" });
  await door.auth("Rules/Create", { rule: { id: "r", scope: "x", access: "GRANTED", resource: HELLO } }, admin);
  t.match(await door.auth("Audit/List", { action: "rule created", limit: 1 }), {
    records: [{ actor: "admin", key: "agent:app" }],
  });
});

for (const [reason, cause, failed, token] of [
  [Reason.RULE, "no-app", "rules: rule no-app denies it", "of ann, for whom agent:app calls"],
  [Reason.LIMIT, "", "limits: limit: agent:app may not call this endpoint", "of ann, for whom agent:app calls"],
  [Reason.EXPIRED, "", "token: expired", "expired"],
] as const) {
  t.test(`a refusal of an agent in words: ${Reason[reason]}`, (t) => {
    const endpoint = "helloworld:Helloworld.Call";
    const chain = chainOfRefusal({ endpoint, account: "ann", key: "agent:app", reason, cause, code: 403 });
    const link = chain.find(({ state }) => state === LinkState.FAILED);
    t.match(`${link?.name}: ${link?.detail}`, failed);
    t.equal(chain[0]?.detail, token);
    t.equal(chain[1]?.state, LinkState.NOT_REACHED, "it is no API key");
    t.end();
  });
}

t.test("no account can have the scope of an agent", async (t) => {
  const { door } = await opened(t);
  const clear = /agent:app is the scope of an agent, which has it where it calls for a person/;
  const account = { name: "bob", password: ANN.password, scopes: ["agent:app"] };
  await t.rejects(door.auth("Accounts/Create", account), clear);
  await t.rejects(door.auth("Accounts/SetScopes", { name: "ann", scopes: ["staff", "agent:app"] }), clear);
  const rule = { id: "upper", scope: "agent:Claude.ai", access: "DENIED", resource: HELLO };
  await t.rejects(door.auth("Rules/Create", { rule }), /must be in lower case/);
});

t.test("a client that has an account's name is not that account", async (t) => {
  const { door, rule } = await opened(t);
  await register(door, "root");
  await door.auth("Accounts/Create", { name: "root", password: ANN.password, scopes: ["root"] });
  await rule("root", "root", "GRANTED", "service:probe:*");
  const { access_token: token } = await grantTo(door, { client: "root", person: ANN });
  t.match(await door.auth("WhoAmI", {}, token), { account: "ann", scopes: ["staff", "agent:root"] });
  t.equal(await door.statusOf(token, "/v1/probe/call"), 401);
});

for (const [what, end] of [
  ["the grant", "Grants/Delete"],
  ["her account, which is disabled,", "Accounts/SetDisabled"],
  ["her account", "Accounts/Delete"],
  ["the agent, as a client", "Clients/Delete"],
] as const) {
  t.test(`ending ${what} ends what the agent may call, when the command returns`, async (t) => {
    const { door, agents, grantOf } = await opened(t);
    t.equal(await door.statusOf(agents.app!.access_token), 200);
    const asked = { "Grants/Delete": { id: grantOf("app") }, "Accounts/Delete": { name: "ann" } };
    const disabled = { name: "ann", disabled: true };
    await door.auth(end, { ...asked, "Clients/Delete": { id: "app" }, "Accounts/SetDisabled": disabled }[end]);
    t.equal(await door.statusOf(agents.app!.access_token), 401);
  });
}
