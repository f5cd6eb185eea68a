// Administration of some resources, by `admin:on:<pattern>`: what its holder may change, and each
// way to get more than was given.
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService, ListAuditRequest } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { type Configuration, ConfigurationsService } from "../../../src/gen/portico/auth/v1/configurations.js";
import { type CreateKeyRequest, KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { type Limit, LimitsService, Per } from "../../../src/gen/portico/auth/v1/limits.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { readRule } from "../../access/read-rule.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { type Open, open, PASSWORD } from "./open.js";

const ON = "admin:on:service:orders:*";
const ORDERS = "service:orders:*";
const GET = "service:orders:Orders.Get";
const DENIED = Code.PERMISSION_DENIED;
const ALL = { pageSize: 0, pageToken: "" };

const limit = (id: string, fields: Partial<Limit> = {}): Limit => ({
  ...{ id, scope: "<public>", resource: ORDERS, per: Per.EVERYONE, rate: "5/s", burst: 0n },
  ...{ quota: "", concurrent: 0, shadow: false, ...fields },
});
const newKey = { name: "ci", lifetime: undefined, resources: [], from: [] } satisfies CreateKeyRequest;
const none: Configuration = {
  ...{ rules: undefined, limits: undefined, accounts: undefined },
  ...{ services: undefined, issuers: undefined, trusts: undefined },
};

/** dora administers orders, eve another service. robot and bob are others. */
const ACCOUNTS: Readonly<Record<string, string[]>> = {
  dora: [ON, "staff"],
  eve: ["admin:on:service:billing:*"],
  robot: ["staff"],
  partner: [],
  bob: ["billing"],
};
const RULES = {
  mine: `staff granted ${ORDERS}`,
  exact: `staff denied ${GET} 999`,
  reserved: `suspended denied ${ORDERS} 1000`,
  wider: "staff granted service:ord*:* 5",
  theirs: "staff granted service:billing:*",
} as const;
const KEYS = {
  whole: ["robot", []],
  within: ["robot", [ORDERS]],
  both: ["robot", [ORDERS, "service:billing:*"]],
  wider: ["robot", ["service:ord*:*"]],
  ofBob: ["bob", [GET]],
  ofTools: ["robot", ["mcp:orders:*"]],
} as const;
type KeyName = keyof typeof KEYS;

interface Scene extends Open {
  readonly admin: string;
  readonly tokens: Readonly<Record<string, string>>;
  readonly dora: string;
  /** Prefixes of the keys. */
  readonly keys: Readonly<Record<KeyName, string>>;
}

/** An authority with accounts, rules, keys, and the limits `all`, `chiefs` and dora's `own`. */
async function openScene(t: Test): Promise<Scene> {
  const opened = await open(t, { store: openMemoryStore() });
  const { call, login } = opened;
  const admin = await login();
  const tokens: Record<string, string> = { admin };
  for (const [name, scopes] of Object.entries(ACCOUNTS)) {
    await call(AccountsService.create, { name, password: PASSWORD, scopes }, admin);
    tokens[name] = await login(name);
  }
  for (const [id, text] of Object.entries(RULES)) await call(RulesService.create, { rule: readRule(text, id) }, admin);
  const keys: Record<string, string> = {};
  for (const [name, [owner, resources]] of Object.entries(KEYS)) {
    const made = await call(KeysService.create, { ...newKey, name, resources: [...resources] }, tokens[owner]);
    keys[name] = made.key!.prefix;
  }
  const dora = tokens.dora!;
  await call(LimitsService.create, { limit: limit("all", { resource: "*:*:*" }) }, admin);
  await call(LimitsService.create, { limit: limit("chiefs") }, admin);
  await call(LimitsService.create, { limit: limit("own") }, dora);
  return { ...opened, admin, tokens, dora, keys: keys as Record<KeyName, string> };
}

const setOf = (text: string, id: string) => ({ rule: readRule(text, id), expected: undefined });

type Way = (scene: Scene) => Promise<unknown>;

const create =
  (text: string, id = "new"): Way =>
  ({ call, dora }) =>
    call(RulesService.create, { rule: readRule(text, id) }, dora);
const set =
  (id: string, text: string): Way =>
  ({ call, dora }) =>
    call(RulesService.set, setOf(text, id), dora);
const remove =
  (id: string): Way =>
  ({ call, dora }) =>
    call(RulesService.delete, { id }, dora);
const key =
  (fields: Partial<CreateKeyRequest>): Way =>
  ({ call, dora }) =>
    call(KeysService.create, { ...newKey, ...fields }, dora);
const limits =
  (method: "create" | "set", id: string, fields: Partial<Limit> = {}): Way =>
  ({ call, dora }) =>
    method === "create"
      ? call(LimitsService.create, { limit: limit(id, fields) }, dora)
      : call(LimitsService.set, { limit: limit(id, fields), expected: undefined }, dora);
const apply =
  (sections: Partial<Configuration>, prune = false): Way =>
  ({ call, dora }) =>
    call(ConfigurationsService.apply, { configuration: { ...none, ...sections }, prune, etag: "" }, dora);
const rulesOf = (...texts: string[]) => ({
  rules: { rules: texts.map((text, index) => readRule(text, `f${index}`)) },
});
const explain =
  (fields: { account?: string; resource?: string; key?: string }): Way =>
  ({ call, dora }) =>
    call(RulesService.explain, { account: "", resource: GET, key: "", ...fields }, dora);

const granted: Readonly<Record<string, Way>> = {
  "a rule within": create(`<public> granted ${ORDERS} 999`),
  "a rule within, written in capitals": create("staff denied SERVICE:Orders:ORDERS.Get"),
  "a rule for an agent": create(`agent:claude.ai denied ${GET}`),
  "a rule for all that are logged in": create("* granted service:orders:Ord* -5"),
  "a rule that another administrator made, changed": set("exact", `staff granted ${ORDERS} 0`),
  "a rule that is switched off": ({ call, dora }) =>
    call(
      RulesService.set,
      { ...setOf(RULES.mine, "mine"), rule: { ...readRule(RULES.mine, "mine"), disabled: true } },
      dora,
    ),
  "a rule that is deleted": remove("mine"),
  "a key of the own account, whatever it is for": key({}),
  "a key of the own account that administers": key({ admin: true }),
  "a key of another account, limited to resources within": key({ account: "robot", resources: [GET] }),
  "a key of an account without scopes": key({ account: "partner", resources: [ORDERS] }),
  "the revocation of a key within": ({ call, dora, keys }) => call(KeysService.revoke, { prefix: keys.ofBob }, dora),
  "the rotation of a key within": ({ call, dora, keys }) =>
    call(KeysService.rotate, { prefix: keys.within, overlap: undefined }, dora),
  "a limit within": limits("create", "new"),
  "the change of a limit that she set": limits("set", "own", { rate: "9/s", resource: GET }),
  "the deletion of it": ({ call, dora }) => call(LimitsService.delete, { id: "own" }, dora),
  "the explanation of a call within": explain({ account: "robot" }),
  "the explanation with an own key": async (scene) => {
    await key({ name: "mine" })(scene);
    return explain({ key: "mine" })(scene);
  },
  "rules from a file": apply(rulesOf(`staff granted ${ORDERS}`)),
};

const OUTSIDE = /not within what dora administers: service:orders:\*$/;
const RESERVED = /has? the priority \d+, and from 1000 on rules are for who administers all rules$/;
const RESERVED_NEW = /would have the priority \d+, and from 1000 on rules are for who administers all rules$/;

/** Each with the message of PERMISSION_DENIED, or the code. */
const refused: Readonly<Record<string, readonly [Way, RegExp | Code]>> = {
  "a rule for everything": [create("<public> granted *:*:*"), OUTSIDE],
  "a rule for another service": [create("staff granted service:billing:*"), OUTSIDE],
  "a rule for services with the same beginning": [create("staff granted service:orders*:*"), OUTSIDE],
  "a rule for a shorter beginning": [create("staff granted service:o*:*"), OUTSIDE],
  "a rule for all services": [create("staff granted service:*:Orders.Get"), OUTSIDE],
  "a rule for every type": [create(`staff granted *:orders:*`), OUTSIDE],
  "a rule for types with the same beginning": [create("staff granted service*:orders:*"), OUTSIDE],
  "a rule for another type": [create("staff granted mcp:orders:*"), OUTSIDE],
  "a rule for the authority": [create("<public> granted service:auth:*"), OUTSIDE],
  "a rule of the reserved priority": [create(`staff granted ${ORDERS} 1000`), RESERVED_NEW],
  "a rule of the highest priority": [create(`staff granted ${ORDERS} 2147483647`), RESERVED_NEW],
  "a wildcard within a segment": [create("staff granted service:or*ers:*"), Code.INVALID_ARGUMENT],
  "a rule moved out, as the second step": [
    async (scene) => {
      await create(`<public> granted ${ORDERS}`)(scene);
      return set("new", "<public> granted *:*:*")(scene);
    },
    OUTSIDE,
  ],
  "a rule moved in, so that it is not there any more": [set("theirs", `staff granted ${ORDERS}`), OUTSIDE],
  "a wider rule made narrower": [set("wider", `staff granted ${ORDERS}`), OUTSIDE],
  "a rule raised, as the second step": [
    async (scene) => {
      await create(`staff granted ${ORDERS} 999`)(scene);
      return set("new", `staff granted ${ORDERS} 1000`)(scene);
    },
    RESERVED_NEW,
  ],
  "a reserved rule lowered": [set("reserved", `suspended denied ${ORDERS} 0`), RESERVED],
  "a reserved rule switched off": [
    ({ call, dora }) => {
      const rule = { ...readRule(RULES.reserved, "reserved"), disabled: true };
      return call(RulesService.set, { rule, expected: undefined }, dora);
    },
    RESERVED,
  ],
  "a reserved rule deleted": [remove("reserved"), RESERVED],
  "a wider rule deleted": [remove("wider"), OUTSIDE],
  "the first rule deleted": [remove("default"), OUTSIDE],
  "a rule of others, which she does not see, deleted": [
    remove("theirs"),
    /^the rule theirs has a resource that is not within what dora administers: service:orders:\*$/,
  ],
  "the preview of a rule outside": [
    ({ call, dora }) => {
      const rule = readRule("<public> denied *:*:*", "new");
      return call(RulesService.preview, { change: { $case: "create", value: rule }, resources: [GET] }, dora);
    },
    OUTSIDE,
  ],
  "the preview of a deletion outside": [
    ({ call, dora }) =>
      call(RulesService.preview, { change: { $case: "delete", value: "default" }, resources: [GET] }, dora),
    OUTSIDE,
  ],
  "the explanation of a call outside": [explain({ resource: "service:billing:Billing.Pay" }), OUTSIDE],
  "the explanation with a key of another account": [
    (scene) => explain({ account: "robot", key: scene.keys.both })(scene),
    /^account: dora administers only some resources, and sees only its own keys and grants$/,
  ],
  "the explanation with a key of nobody said whom": [
    (scene) => explain({ key: scene.keys.both })(scene),
    Code.NOT_FOUND,
  ],
  "a key of another account without limits": [
    key({ account: "robot" }),
    /^resources: a key that is not limited is not within what dora administers: service:orders:\*$/,
  ],
  "a key of another account for more": [key({ account: "robot", resources: [ORDERS, "service:billing:*"] }), OUTSIDE],
  "a key of another account for tools": [key({ account: "robot", resources: ["mcp:orders:*"] }), OUTSIDE],
  "a key of an account with scopes that she lacks": [
    key({ account: "bob", resources: [ORDERS] }),
    /^account: bob holds scopes that dora lacks: billing\./,
  ],
  "a key of an administrator": [
    key({ account: "admin", resources: [ORDERS], admin: true }),
    /^account: admin holds scopes that dora lacks: admin\./,
  ],
  "a key of who administers other resources": [
    key({ account: "eve", resources: [ORDERS], admin: true }),
    /^account: eve holds scopes that dora lacks: admin:on:service:billing:\*\./,
  ],
  "the rotation of a key with scopes that she lacks": [
    ({ call, dora, keys }) => call(KeysService.rotate, { prefix: keys.ofBob, overlap: undefined }, dora),
    /^account: bob holds scopes that dora lacks: billing\./,
  ],
  ...Object.fromEntries(
    (["whole", "both", "wider", "ofTools"] as const).flatMap((name) => [
      [
        `the revocation of the key ${name}`,
        [({ call, dora, keys }: Scene) => call(KeysService.revoke, { prefix: keys[name] }, dora), Code.NOT_FOUND],
      ],
      [
        `the rotation of the key ${name}`,
        [
          ({ call, dora, keys }: Scene) => call(KeysService.rotate, { prefix: keys[name], overlap: undefined }, dora),
          Code.NOT_FOUND,
        ],
      ],
    ]),
  ),
  "a limit for everything": [limits("create", "new", { resource: "*:*:*" }), OUTSIDE],
  "a limit without a resource": [limits("create", "new", { resource: "" }), OUTSIDE],
  "a limit that counts other namespaces": [
    limits("create", "new", { per: Per.NAMESPACE }),
    /^the limit new would have per namespace, and so counts calls of other namespaces too$/,
  ],
  "a limit moved out": [limits("set", "own", { resource: "service:*:*" }), OUTSIDE],
  "a wider limit moved in": [limits("set", "all"), OUTSIDE],
  "a wider limit deleted": [({ call, dora }) => call(LimitsService.delete, { id: "all" }, dora), OUTSIDE],
  "the change of a limit that was set on her": [
    limits("set", "chiefs", { rate: "1000/s" }),
    /^the limit chiefs was set by who administers all limits, and only they change it$/,
  ],
  "the deletion of it": [
    ({ call, dora }) => call(LimitsService.delete, { id: "chiefs" }, dora),
    /^the limit chiefs was set by who administers all limits/,
  ],
  "a mark that she writes herself": [
    limits("set", "chiefs", { rate: "1000/s", delegated: true }),
    /^the limit chiefs was set by who administers all limits/,
  ],
  "more for the own account": [
    ({ call, dora }) => call(AccountsService.setScopes, { name: "dora", scopes: ["admin"], expected: undefined }, dora),
    /^Forbidden call made to auth:Accounts\.SetScopes by dora, who lacks the scope admin or admin:accounts$/,
  ],
  "an account": [
    ({ call, dora }) => call(AccountsService.create, { name: "x", password: PASSWORD, scopes: [] }, dora),
    /^Forbidden call/,
  ],
  "the list of accounts": [({ call, dora }) => call(AccountsService.list, ALL, dora), /^Forbidden call/],
  "the audit trail": [
    ({ call, dora }) => call(AuditService.list, ListAuditRequest.fromPartial({}), dora),
    /^Forbidden call/,
  ],
  "a namespace": [({ call, dora }) => call(NamespacesService.create, { name: "x" }, dora), /^Forbidden call/],
  "a file with a rule outside": [
    apply(rulesOf(`staff granted ${ORDERS}`, "staff granted service:billing:*", "staff granted *:*:*")),
    /^rules\[1\]: the rule f1 would have a resource that is not within what dora administers: service:orders:\*$/,
  ],
  "a file with a rule outside that is there already": [
    apply({ rules: { rules: [readRule("<public> granted *:*:*", "default")] } }),
    /^rules\[0\]: the rule default would have the resource \*:\*:\*, which is not within/,
  ],
  "a file with a reserved rule": [
    apply(rulesOf(`staff granted ${ORDERS} 1000`)),
    /^rules\[0\]: the rule f0 .* 1000 on/,
  ],
  "a file that takes the ID of a rule outside": [
    apply({ rules: { rules: [readRule(`staff granted ${ORDERS}`, "default")] } }),
    /^rules\[0\]: the rule default has the resource \*:\*:\*, which is not within/,
  ],
  "a file with a limit outside": [
    apply({ limits: { limits: [limit("new"), limit("more", { resource: "*:*:*" })] } }),
    /^limits\[1\]: the limit more would have the resource \*:\*:\*, which is not within/,
  ],
  "a file with a limit that was set on her": [
    apply({ limits: { limits: [limit("chiefs", { rate: "1000/s" })] } }),
    /^limits\[0\]: the limit chiefs was set by who administers all limits/,
  ],
  "a file with accounts": [
    apply({ ...rulesOf(`staff granted ${ORDERS}`), accounts: { accounts: [] } }),
    /^accounts: dora does not administer them: they take the scope admin or admin:accounts$/,
  ],
};

t.test("who administers some resources", async (t) => {
  const scene = await openScene(t);
  for (const [what, [way, expected]] of Object.entries(refused)) {
    const error = typeof expected === "number" ? { code: expected } : { code: DENIED, message: expected };
    await t.rejects(way(scene), error, `is refused ${what}`);
    const left = await scene.call(RulesService.list, ALL, scene.admin);
    for (const { id } of left.rules.filter(({ id }) => id === "new"))
      await scene.call(RulesService.delete, { id }, scene.admin);
  }
  for (const [what, way] of Object.entries(granted)) {
    const scene = await openScene(t);
    await t.resolves(way(scene), `gets ${what}`);
    await scene.close();
  }
});

t.test("lists have what concerns the resources", async (t) => {
  const { call, dora, tokens, keys } = await openScene(t);
  const ids = async (token: string) => (await call(RulesService.list, ALL, token)).rules.map(({ id }) => id);
  t.same(await ids(dora), ["reserved", "exact", "wider", "default", "mine"]);
  t.same(await ids(tokens.eve!), ["default", "theirs"]);
  const listed = (await call(LimitsService.list, ALL, dora)).limits.map(({ limit }) => [limit?.id, limit?.delegated]);
  t.same(listed, [
    ["all", undefined],
    ["chiefs", undefined],
    ["own", true],
  ]);
  t.same((await call(LimitsService.list, ALL, tokens.eve!)).limits.length, 1);
  const own = await call(KeysService.create, newKey, dora);
  const prefixes = async (token: string) => (await call(KeysService.list, ALL, token)).keys.map(({ prefix }) => prefix);
  t.same(await prefixes(dora), [keys.ofBob, own.key!.prefix, keys.within]);
  t.same(await prefixes(tokens.eve!), []);
  const first = await call(KeysService.list, { pageSize: 2, pageToken: "" }, dora);
  const second = await call(KeysService.list, { pageSize: 2, pageToken: first.nextPageToken }, dora);
  t.same(
    [...first.keys, ...second.keys].map(({ prefix }) => prefix),
    [keys.ofBob, own.key!.prefix, keys.within],
  );
});

t.test("a file that was exported is applied, and prunes what is her share alone", async (t) => {
  const { call, dora, admin } = await openScene(t);
  const { configuration } = await call(ConfigurationsService.read, {}, dora);
  t.same(
    [configuration?.rules?.rules.map(({ id }) => id), configuration?.limits?.limits.map(({ id }) => id)],
    [["exact", "mine"], ["own"]],
  );
  t.equal(configuration?.accounts, undefined);
  const applied = { configuration, prune: true, etag: "" };
  t.same(await call(ConfigurationsService.apply, applied, dora), { revision: 0n }, "nothing to change");
  const emptied = { ...none, rules: { rules: [] }, limits: { limits: [] } };
  const planned = await call(ConfigurationsService.plan, { configuration: emptied, prune: false, resources: [] }, dora);
  t.same(
    planned.kept?.rules?.rules.map(({ id }) => id),
    ["exact", "mine"],
    "a plan shows no other rules",
  );
  await call(ConfigurationsService.apply, { configuration: emptied, prune: true, etag: "" }, dora);
  const left = (await call(RulesService.list, ALL, admin)).rules.map(({ id }) => id);
  t.same(left, ["reserved", "wider", "default", "theirs"]);
  t.same(
    (await call(LimitsService.list, ALL, admin)).limits.map(({ limit }) => limit?.id),
    ["all", "chiefs"],
  );
});

t.test("a limit is of who changed it last", async (t) => {
  const { call, dora, admin } = await openScene(t);
  const own = limit("own", { burst: 5n });
  t.equal((await call(LimitsService.set, { limit: own, expected: undefined }, admin)).delegated, true, "no change");
  const taken = await call(LimitsService.set, { limit: { ...own, rate: "1/s" }, expected: own }, admin);
  t.equal(taken.delegated, undefined);
  await t.rejects(call(LimitsService.delete, { id: "own" }, dora), { code: DENIED });
});

t.test("a key administers what its account does, if it was made to", async (t) => {
  const { call, dora } = await openScene(t);
  const plain = (await call(KeysService.create, newKey, dora)).secret;
  const administering = (await call(KeysService.create, { ...newKey, admin: true }, dora)).secret;
  const within = readRule(`staff granted ${ORDERS}`, "byKey");
  const outside = readRule("staff granted *:*:*", "outside");
  await t.rejects(call(RulesService.create, { rule: within }, plain), {
    code: DENIED,
    message: /: this API key administers nothing; log in, or create one with --admin$/,
  });
  const forRobot = { ...newKey, account: "robot", resources: [ORDERS], lifetime: { seconds: 86_400n, nanos: 0 } };
  await t.rejects(call(KeysService.create, forRobot, plain), {
    code: DENIED,
    message: /^account: only an administrator/,
  });
  await t.rejects(
    call(
      ConfigurationsService.apply,
      { configuration: { ...none, rules: { rules: [] } }, prune: true, etag: "" },
      plain,
    ),
    { code: DENIED, message: /^rules: dora does not administer them/ },
  );
  await call(RulesService.create, { rule: within }, administering);
  await call(KeysService.create, forRobot, administering);
  await t.rejects(call(RulesService.create, { rule: outside }, administering), { code: DENIED, message: OUTSIDE });
});

t.test("two patterns do not add up to a third one", async (t) => {
  const { call, login, admin } = await openScene(t);
  const scopes = ["admin:on:service:billing:Pay.*", "admin:on:service:billing:List"];
  await call(AccountsService.create, { name: "two", password: PASSWORD, scopes }, admin);
  const two = await login("two");
  for (const [resource, isWithin] of [
    ["service:billing:pay.now", true],
    ["service:billing:list", true],
    ["service:billing:lis*", false],
    ["service:billing:list*", false],
    ["service:billing:*", false],
    ["service:billing:pay*", false],
    ["service:billing2:list", false],
  ] as const) {
    const made = call(RulesService.create, { rule: readRule(`x granted ${resource}`, `r${resource.length}`) }, two);
    if (isWithin) await t.resolves(made, resource);
    else await t.rejects(made, { code: DENIED }, resource);
  }
});

t.test("it counts in its namespace alone", async (t) => {
  const { call, login, admin } = await openScene(t);
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, admin);
  const chief = await login("admin", adminPassword, "other");
  await call(AccountsService.create, { name: "dora", password: PASSWORD, scopes: [ON] }, chief);
  const dora = await login("dora", PASSWORD, "other");
  const rule = readRule(`<public> granted ${ORDERS}`, "elsewhere");
  await call(RulesService.create, { rule }, dora);
  await call(LimitsService.create, { limit: limit("own", { per: Per.NAMESPACE }) }, dora);
  t.notOk((await call(RulesService.list, ALL, admin)).rules.some(({ id }) => id === "elsewhere"));
  await t.rejects(call(RulesService.delete, { id: "mine" }, dora), { code: Code.NOT_FOUND });
});

t.test("only who has the scope admin gives it, and no pattern but one of services", async (t) => {
  const { call, login, admin } = await openScene(t);
  await call(AccountsService.create, { name: "people", password: PASSWORD, scopes: ["admin:accounts"] }, admin);
  const people = await login("people");
  const give = (scope: string, token = admin) =>
    call(AccountsService.setScopes, { name: "partner", scopes: [scope], expected: undefined }, token);
  await t.rejects(give(ON, people), {
    code: DENIED,
    message: /^scopes: only an account with the scope admin may give/,
  });
  await t.rejects(call(AccountsService.setScopes, { name: "dora", scopes: [], expected: undefined }, people), {
    code: DENIED,
    message: `name: dora holds the scope ${ON}; only an account with the scope admin may do this`,
  });
  for (const [pattern, message] of [
    ["*:*:*", /must begin with service:$/],
    ["mcp:orders:*", /must begin with service:$/],
    ["service:*:*", /matches endpoints of auth, which rules do not govern; name the services$/],
    ["service:a*:*", /matches endpoints of auth/],
    ["SERVICE:AUTH:*", /matches endpoints of auth/],
    ["service:reg*:Services.Put", /matches endpoints of registry/],
    ["service:orders", /must have three segments/],
    ["service:or*ers:*", /must be a literal/],
    ["", /must have three segments/],
    [`service:${"o".repeat(120)}:*`, /is longer than 119 characters$/],
  ] as const) {
    await t.rejects(give(`admin:on:${pattern}`), { code: Code.INVALID_ARGUMENT, message }, pattern);
  }
  await give("admin:on:service:Orders:Orders.*");
  await t.rejects(give("Admin:on:service:orders:*"), { code: Code.INVALID_ARGUMENT }, "another scope");
});

t.test("who has the scope admin makes keys for those who administer some resources", async (t) => {
  const { call, admin } = await openScene(t);
  const eve = { ...newKey, account: "eve", admin: true };
  const { secret } = await call(KeysService.create, eve, admin);
  t.match(await call(AuthService.whoAmI, {}, secret), { account: "eve" });
  await call(RulesService.create, { rule: readRule("x granted service:billing:*", "byKey") }, secret);
});

t.test("a call that waits while the right is taken away changes nothing", async (t) => {
  const { call, dora, admin, keys } = await openScene(t);
  // The guard knows the token, so that the calls are admitted before the right is taken away.
  await call(AuthService.whoAmI, {}, dora);
  const taking = call(AccountsService.setScopes, { name: "dora", scopes: ["staff"], expected: undefined }, admin);
  const waiting = [
    call(RulesService.create, { rule: readRule(`<public> granted ${ORDERS}`, "late") }, dora),
    call(RulesService.set, setOf(`<public> granted ${ORDERS}`, "mine"), dora),
    call(RulesService.delete, { id: "exact" }, dora),
    call(LimitsService.create, { limit: limit("late") }, dora),
    call(LimitsService.delete, { id: "own" }, dora),
    call(KeysService.revoke, { prefix: keys.ofBob }, dora),
    call(KeysService.create, { ...newKey, account: "robot", resources: [ORDERS] }, dora),
    call(
      ConfigurationsService.apply,
      { configuration: { ...none, ...rulesOf(RULES.mine) }, prune: true, etag: "" },
      dora,
    ),
  ];
  const [, ...outcomes] = await Promise.allSettled([taking, ...waiting]);
  t.same(
    outcomes.map(({ status }) => status),
    outcomes.map(() => "rejected"),
  );
  const { rules } = await call(RulesService.list, ALL, admin);
  t.same(rules.map(({ id }) => id).sort(), ["default", "exact", "mine", "reserved", "theirs", "wider"]);
});

t.test("the audit trail has the changes, and who made them", async (t) => {
  const scene = await openScene(t);
  await create(`<public> granted ${ORDERS}`)(scene);
  const request = ListAuditRequest.fromPartial({ limit: 1 });
  const { records } = await scene.call(AuditService.list, request, scene.admin);
  t.match(records, [{ actor: "dora", action: "rule created", subject: /new/ }]);
});
