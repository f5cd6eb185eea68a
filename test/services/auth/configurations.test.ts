// The configuration of a namespace as a whole: read, planned, and applied in one revision or not at
// all.
import t, { type Test } from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { hashToken } from "../../../src/call/token.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService, ListAuditRequest } from "../../../src/gen/portico/auth/v1/audit.js";
import { type Configuration, ConfigurationsService } from "../../../src/gen/portico/auth/v1/configurations.js";
import { IssuerSignIn, IssuersService } from "../../../src/gen/portico/auth/v1/issuers.js";
import { type Limit, Per } from "../../../src/gen/portico/auth/v1/limits.js";
import { Access, type Rule, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import type { Trust } from "../../../src/gen/portico/auth/v1/trusts.js";
import type { ConfiguredService } from "../../../src/gen/portico/registry/v1/services.js";
import { toTimestamp } from "../../../src/time.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { type Open, open, openJournal, PASSWORD } from "./open.js";

const CALL = "service:helloworld:Helloworld.Call";
const GITHUB = "https://token.actions.githubusercontent.com";

const rule = (id: string, fields: Partial<Rule> = {}): Rule => ({
  ...{ id, scope: "<public>", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
  ...fields,
});
const account = (name: string, scopes: string[] = [], disabled = false) => ({
  ...{ name, scopes, disabled, created: undefined, withoutPassword: false },
});
const limit = (id: string, rate: string): Limit => ({
  ...{ id, scope: "<public>", resource: "*:*:*", per: Per.EVERYONE, rate, burst: 0n },
  ...{ quota: "", concurrent: 0, shadow: false },
});
const service = (name: string): ConfiguredService => ({
  ...{ name, targets: [{ address: "127.0.0.1:9000", weight: 1 }], descriptors: Buffer.alloc(0), options: undefined },
});
const issuer = (name: string, url = GITHUB) => ({ name, url, created: undefined, signIn: undefined, callbackPath: "" });
const trust = (name: string, fields: Partial<Trust> = {}): Trust => ({
  ...{ name, issuer: "github", audience: "api", subject: `repo:${name}`, account: "ci", bearer: false },
  ...{ created: undefined, ...fields },
});

interface Sections {
  readonly rules?: Rule[];
  readonly limits?: Limit[];
  readonly accounts?: ReturnType<typeof account>[];
  readonly services?: ConfiguredService[];
  readonly issuers?: ReturnType<typeof issuer>[];
  readonly trusts?: Trust[];
}

/** Absent sections stay as they are. */
const configuration = ({ rules, limits, accounts, services, issuers, trusts }: Sections): Configuration => ({
  rules: rules && { rules },
  limits: limits && { limits },
  accounts: accounts && { accounts },
  services: services && { services },
  issuers: issuers && { issuers },
  trusts: trusts && { trusts },
});

const ALL: Sections = {
  rules: [rule("staff", { scope: "staff", priority: 5 }), rule("off", { disabled: true })],
  limits: [limit("all", "100/s")],
  accounts: [account("admin", ["admin"]), account("ci", ["deploy"]), account("gone", [], true)],
  services: [service("shop")],
  issuers: [issuer("github")],
  trusts: [trust("deploy")],
};

/** The names in each section. */
function namesIn(
  { rules, limits, accounts, services, issuers, trusts }: Configuration | undefined = configuration({}),
) {
  const lists = {
    rules: rules?.rules.map(({ id }) => id),
    limits: limits?.limits.map(({ id }) => id),
    accounts: accounts?.accounts.map(({ name }) => name),
    services: services?.services.map(({ name }) => name),
    issuers: issuers?.issuers.map(({ name }) => name),
    trusts: trusts?.trusts.map(({ name }) => name),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, names]) => names !== undefined && names.length > 0));
}

const reader =
  ({ call }: Open, token: string) =>
  async () =>
    (await call(ConfigurationsService.read, {}, token)).configuration;
const apply = ({ call }: Open, token: string, sections: Sections, more = { prune: false, etag: "" }) =>
  call(ConfigurationsService.apply, { configuration: configuration(sections), ...more }, token);
const plan = ({ call }: Open, token: string, sections: Sections, prune = false) =>
  call(ConfigurationsService.plan, { configuration: configuration(sections), prune, resources: [CALL] }, token);
const PRUNE = { prune: true, etag: "" };

t.test("what was applied is read again, and applying it again changes nothing", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const { revision } = await apply(opened, token, ALL, PRUNE);
  t.ok(revision > 0n);
  const read = await reader(opened, token)();
  t.same(namesIn(read), {
    rules: ["staff", "off"],
    limits: ["all"],
    accounts: ["admin", "ci", "gone"],
    services: ["shop"],
    issuers: ["github"],
    trusts: ["deploy"],
  });
  const again = await opened.call(ConfigurationsService.apply, { configuration: read, ...PRUNE }, token);
  t.equal(again.revision, 0n);
});

t.test("all changes are in one revision, each with its record", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const { revision } = await apply(opened, token, ALL);
  const { records } = await opened.call(AuditService.list, ListAuditRequest.fromPartial({}), token);
  const actions = records.filter((record) => record.revision === revision).map(({ action }) => action);
  t.same(actions.sort(), [
    ...["account created", "account created", "account disabled", "issuer created", "limit created"],
    ...["rule created", "rule created", "service added", "trust created"],
  ]);
});

t.test("a plan has what changes before and after, whose calls change, and what stays", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  await apply(opened, token, ALL);
  const wanted = { rules: [rule("default", { scope: "*" }), rule("new", { scope: "staff" })] };
  const planned = await plan(opened, token, wanted);
  t.same(namesIn(planned.before), { rules: ["default"] });
  t.same(namesIn(planned.after), { rules: ["default", "new"] });
  t.same(namesIn(planned.kept), { rules: ["staff", "off"] });
  t.match(planned.effects, [{ before: 200, after: 401, nobody: true, everyAccount: false, accounts: [] }]);
  const pruning = await plan(opened, token, wanted, true);
  t.same(namesIn(pruning.before), { rules: ["staff", "default", "off"] });
  t.same(namesIn(pruning.kept), {});
});

const effects: readonly [what: string, accounts: ReturnType<typeof account>[], effect: object[]][] = [
  ["an account that loses a scope", [account("bob")], [{ before: 200, after: 401, accounts: ["bob"] }]],
  ["an account that is disabled", [account("bob", ["staff"], true)], [{ before: 200, after: 401, accounts: ["bob"] }]],
  ["an account that gets a scope", [account("ann", ["staff"])], [{ before: 401, after: 200, accounts: ["ann"] }]],
  ["an account that is enabled", [account("eve", ["staff"])], [{ before: 401, after: 200, accounts: ["eve"] }]],
  ["a scope that no rule names", [account("bob", ["staff", "other"])], []],
  ["a new account, which has no calls", [account("new", ["staff"])], []],
];

t.test("a plan says whose calls change with their account", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const accounts = [account("bob", ["staff"]), account("ann"), account("eve", ["staff"], true)];
  await apply(opened, token, { rules: [rule("staff", { scope: "staff" })], accounts });
  await opened.call(RulesService.delete, { id: "default" }, token);
  for (const [what, accounts, effect] of effects) {
    const planned = await plan(opened, token, { accounts });
    t.match(planned.effects, effect, what);
    t.equal(planned.effects.length, effect.length, what);
  }
  const deleted = await plan(opened, token, { accounts: [account("admin", ["admin"])] }, true);
  t.match(deleted.effects, [{ before: 200, after: 401, accounts: ["bob"] }], "an account that is deleted");
});

t.test("what moved since the plan is refused, and nothing is changed", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const { etag } = await plan(opened, token, ALL);
  await opened.login(); // A login is no change of the configuration.
  await opened.call(RulesService.create, { rule: rule("another") }, token);
  const before = await reader(opened, token)();
  await t.rejects(apply(opened, token, ALL, { prune: false, etag }), {
    code: Code.ABORTED,
    message: /^the configuration has changed since the plan was made/,
  });
  t.same(await reader(opened, token)(), before);
  const now = await plan(opened, token, ALL);
  t.ok((await apply(opened, token, ALL, { prune: false, etag: now.etag })).revision > 0n);
});

const refused: readonly [what: string, sections: Sections, code: Code, message: RegExp, prune?: true][] = [
  [
    "a bad field",
    { rules: [rule("a"), rule("b", { resource: "x" })] },
    Code.INVALID_ARGUMENT,
    /^rules\[1\]\.resource: /,
  ],
  ["an item twice", { rules: [rule("a"), rule("a")] }, Code.INVALID_ARGUMENT, /^rules\[1\]: a is listed twice$/],
  ["a bad limit", { limits: [limit("a", "fast")] }, Code.INVALID_ARGUMENT, /^limits\[0\]\.rate: /],
  ["a bad name", { accounts: [account("a b")] }, Code.INVALID_ARGUMENT, /^accounts\[0\]\.name: /],
  ["a bad scope", { accounts: [account("a", ["x", "*"])] }, Code.INVALID_ARGUMENT, /^accounts\[0\]\.scopes\[1\]: /],
  ["an unknown issuer", { trusts: [trust("a", { issuer: "x" })] }, Code.NOT_FOUND, /^trusts\[0\]: no issuer .* x$/],
  ["a plain issuer", { issuers: [issuer("a", "http://a.example")] }, Code.INVALID_ARGUMENT, /^issuers\[0\]\.url: /],
  [
    "too many rules",
    { rules: ["a", "b", "c"].map((id) => rule(id)) },
    Code.FAILED_PRECONDITION,
    /^rules: there would be 4, and 3 is the maximum$/,
  ],
  [
    "a trust whose issuer goes",
    { ...ALL, rules: [], issuers: [] },
    Code.FAILED_PRECONDITION,
    /^trusts\[0\]: its issuer github is not listed/,
    true,
  ],
];

t.test("a configuration that cannot be is refused with its place, and nothing of it is applied", async (t) => {
  const opened = await open(t, { maxRules: 3 });
  const token = await opened.login();
  await apply(opened, token, { accounts: [account("ci")], issuers: [issuer("github")] });
  const before = await reader(opened, token)();
  const good = { accounts: [account("good")] };
  for (const [what, sections, code, message, prune = false] of refused) {
    await t.rejects(apply(opened, token, { ...good, ...sections }, { prune, etag: "" }), { code, message }, what);
    await t.rejects(plan(opened, token, { ...good, ...sections }, prune), { code, message }, `${what}, planned`);
  }
  t.same(await reader(opened, token)(), before);
});

const locksOut: readonly [what: string, accounts: ReturnType<typeof account>[]][] = [
  ["deleting", [account("other", ["admin"])]],
  ["disabling", [account("admin", ["admin"], true)]],
  ["taking its scope", [account("admin")]],
];

t.test("the last administrator stays one", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const message = /^accounts: admin is the last account with the scope admin that can log in/;
  for (const [what, accounts] of locksOut) {
    await t.rejects(apply(opened, token, { accounts }, PRUNE), { code: Code.FAILED_PRECONDITION, message }, what);
  }
  const other = { name: "other", password: PASSWORD, scopes: ["staff"] };
  await opened.call(AccountsService.create, other, token);
  t.ok((await apply(opened, token, { accounts: [account("other", ["admin"])] }, PRUNE)).revision > 0n, "it may move");
});

t.test("each section takes its part of administration", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const admin = await login();
  const tokens: Record<string, string> = { admin };
  for (const name of ["rules", "accounts", "audit", "plain"]) {
    await call(
      AccountsService.create,
      { name, password: PASSWORD, scopes: [`admin:${name}`].filter((scope) => scope !== "admin:plain") },
      admin,
    );
    tokens[name] = await login(name);
  }
  const may: Record<string, readonly string[]> = {
    rules: ["rules", "limits"],
    accounts: ["accounts"],
    admin: Object.keys(ALL),
  };
  for (const [name, token] of Object.entries(tokens)) {
    for (const section of Object.keys(ALL) as (keyof Sections)[]) {
      const sections: Sections = section === "trusts" ? { trusts: [] } : { [section]: ALL[section] };
      if (may[name]?.includes(section)) {
        await t.resolves(plan(opened, token, sections), `${name} plans ${section}`);
        continue;
      }
      const denied = {
        code: Code.PERMISSION_DENIED,
        message: new RegExp(`^${section}: ${name} does not administer them`),
      };
      await t.rejects(plan(opened, token, sections), denied, `${name} plans ${section}`);
      await t.rejects(apply(opened, token, sections), denied, `${name} applies ${section}`);
    }
    if (may[name] === undefined) {
      await t.rejects(reader(opened, token)(), { code: Code.PERMISSION_DENIED }, `${name} reads`);
      continue;
    }
    const read = (await reader(opened, token)()) as unknown as Record<string, unknown>;
    t.same(
      Object.keys(ALL)
        .filter((section) => read[section] !== undefined)
        .sort(),
      [...may[name]].sort(),
    );
  }
});

t.test("who administers accounts alone gives and takes no administration", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const scopes = ["admin:accounts"];
  await call(AccountsService.create, { name: "dora", password: PASSWORD, scopes }, await login());
  const token = await login("dora");
  const dora = account("dora", scopes);
  const cases: readonly [accounts: ReturnType<typeof account>[], message: RegExp, prune?: true][] = [
    [[account("new", ["admin"])], /^accounts\[0\]\.scopes: only an account with the scope admin may give/],
    [[account("admin")], /^accounts\[0\]\.name: admin holds the scope admin/],
    [[dora], /^accounts\.name: admin holds the scope admin/, true],
  ];
  for (const [accounts, message, prune = false] of cases) {
    await t.rejects(apply(opened, token, { accounts }, { prune, etag: "" }), { code: Code.PERMISSION_DENIED, message });
  }
  t.ok((await apply(opened, token, { accounts: [account("new", ["staff"])] })).revision > 0n);
});

t.test("an issuer that changes keeps its trusts, and trusts may swap their subjects", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  await apply(opened, token, { ...ALL, trusts: [trust("a"), trust("b")] });
  await apply(opened, token, { issuers: [issuer("github", "https://github.example")] });
  t.same(namesIn(await reader(opened, token)()).trusts, ["a", "b"]);
  await apply(opened, token, { trusts: [trust("a", { subject: "repo:b" }), trust("b", { subject: "repo:a" })] });
  const trusts = (await reader(opened, token)())?.trusts?.trusts.map(({ subject }) => subject);
  t.same(trusts, ["repo:b", "repo:a"]);
});

t.test("an issuer by which people sign in is in no configuration, because it has a secret", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const signIn = IssuerSignIn.fromPartial({ clientId: "portico" });
  const company = { name: "company", url: "https://company.example", signIn, clientSecret: "secret" };
  await opened.call(IssuersService.create, company, token);
  t.same(namesIn(await reader(opened, token)()).issuers, undefined);
  await apply(opened, token, { issuers: [] }, PRUNE);
  const kept = (await opened.call(IssuersService.list, {}, token)).issuers;
  t.match(kept, [{ name: "company", signIn: { clientId: "portico" } }]);
  for (const [given, message] of [
    [issuer("company"), /^issuers\[0\]: people sign in by the issuer company/],
    [{ ...issuer("other"), signIn }, /^issuers\[0\]\.sign_in: needs a secret/],
  ] as const) {
    const wanted = { ...configuration({}), issuers: { issuers: [given] } };
    await t.rejects(opened.call(ConfigurationsService.apply, { configuration: wanted, ...PRUNE }, token), { message });
  }
});

/** An authority with the account ann, who is a person of an issuer. */
async function openWithPerson(t: Test) {
  const store = openMemoryStore();
  const opened = await open(t, { store });
  const token = await opened.login();
  const signIn = IssuerSignIn.fromPartial({ clientId: "portico" });
  const company = { name: "company", url: "https://company.example", signIn, clientSecret: "secret" };
  await opened.call(IssuersService.create, company, token);
  await apply(opened, token, { accounts: [account("ann", ["own"])] });
  const person = { issuer: "company", subject: "1" };
  const journal = await openJournal(store);
  const unset = { scopes: [], created: undefined, read: undefined, refreshToken: "", revision: 0n, reading: "" };
  const link = { namespace: "default", ...person, account: "ann", ...unset };
  await journal.commit(PORTICO, () => [{ $case: "personLinked", value: { link } }]);
  t.teardown(() => journal.close());
  let attempts = 0;
  const groupsGive = (...scopes: string[]) => {
    const attemptSha256 = hashToken(`${attempts++}`);
    const attemptExpires = toTimestamp(Date.now() + 600_000);
    const value = { namespace: "default", ...person, scopes, refreshToken: "", attemptSha256, attemptExpires };
    return journal.commit(PORTICO, () => [{ $case: "personSignedIn", value }]);
  };
  const scopes = async () =>
    (await opened.call(AccountsService.list, { pageSize: 0, pageToken: "" }, token)).accounts.find(
      ({ name }) => name === "ann",
    )?.scopes;
  return { opened, token, groupsGive, scopes };
}

t.test("scopes that groups give are in no configuration, and stay when one is applied", async (t) => {
  const { opened, token, groupsGive, scopes } = await openWithPerson(t);
  const configured = async () =>
    (await reader(opened, token)())?.accounts?.accounts.find(({ name }) => name === "ann")?.scopes;
  const { etag } = await plan(opened, token, {});
  await groupsGive("employee");
  t.same(await scopes(), ["own", "employee"]);
  t.same(await configured(), ["own"]);
  t.equal((await plan(opened, token, {})).etag, etag, "another group is no change");
  const same = await opened.call(
    ConfigurationsService.apply,
    { configuration: await reader(opened, token)(), ...PRUNE },
    token,
  );
  t.equal(same.revision, 0n);
  await apply(opened, token, { accounts: [account("ann", ["other"])] });
  t.same(await scopes(), ["other", "employee"]);
  t.ok((await apply(opened, token, { accounts: [account("ann", ["employee"])] })).revision > 0n);
  t.same(await configured(), ["employee"], "also where a group gives it");
  t.equal((await apply(opened, token, { accounts: [account("ann", ["employee"])] })).revision, 0n);
  await groupsGive();
  t.same(await scopes(), ["employee"], "it is the account's own, so it stays without the group");
});

t.test("who administers by a group is changed by the scope admin only", async (t) => {
  const { opened, token, groupsGive } = await openWithPerson(t);
  await groupsGive("admin");
  await opened.call(AccountsService.create, { name: "dora", password: PASSWORD, scopes: ["admin:accounts"] }, token);
  const dora = await opened.login("dora");
  const denied = { code: Code.PERMISSION_DENIED, message: /ann holds the scope admin/ };
  await t.rejects(apply(opened, dora, { accounts: [account("ann", ["own"], true)] }), denied);
});

t.test("an account that is not listed stays if a person signs in to it by an issuer", async (t) => {
  const { opened, token, scopes } = await openWithPerson(t);
  const listed = { accounts: [account("admin", ["admin"])] };
  t.match(namesIn((await plan(opened, token, listed, true)).kept).accounts, ["ann"]);
  await apply(opened, token, listed, PRUNE);
  t.same(await scopes(), ["own"]);
});

t.test("2,000 rules are planned and applied at once", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const many = {
    rules: Array.from({ length: 2_000 }, (_, index) => rule(`rule-${index}`, { scope: `scope-${index}` })),
  };
  t.equal((await plan(opened, token, many)).after?.rules?.rules.length, 2_000);
  await apply(opened, token, many);
  const { configuration: now } = await opened.call(ConfigurationsService.read, {}, token);
  t.equal(now?.rules?.rules.filter(({ id }) => id.startsWith("rule-")).length, 2_000);
});

t.test("two of one plan at once: one is applied, the other one refused", async (t) => {
  const opened = await open(t);
  const token = await opened.login();
  const { etag } = await plan(opened, token, ALL);
  const one = apply(opened, token, { rules: [rule("one")] }, { prune: false, etag });
  const two = apply(opened, token, { rules: [rule("two")] }, { prune: false, etag });
  const results = await Promise.allSettled([one, two]);
  t.same(
    results.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
});
