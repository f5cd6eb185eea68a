// Administration in parts: who may call which endpoint, and that nobody gives himself more.
import t from "tap";
import { AdminPart, PART_SCOPES } from "../../../src/contract/admin-parts.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Callers, type Endpoint, endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import { Code, StatusError } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { IssuersService } from "../../../src/gen/portico/auth/v1/issuers.js";
import { type CreateKeyRequest, KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { UsageService } from "../../../src/gen/portico/auth/v1/usage.js";
import { readRule } from "../../access/read-rule.js";
import { codeOf, openTestGateway, type TestGateway } from "../../access/test-gateway.js";
import { type Open, open } from "./open.js";

const PASSWORD = "a password for them all";
const registry = readDescriptors(descriptorsOf());
const endpoints = ["auth", "registry"].flatMap((service) => {
  const names = [...registry].flatMap((desc) => (desc.kind === "service" ? [desc.typeName] : []));
  return endpointsOf(
    service,
    registry,
    names.filter((name) => name.startsWith(`portico.${service}.v1.`)),
  );
});
const forAdmins = endpoints.filter(({ callers }) => callers === Callers.ADMIN);

/** The scopes of the accounts; one for each part of administration is named like it. */
const SCOPES: Readonly<Record<string, string[]>> = {
  chief: ["admin"],
  rules: ["admin:rules"],
  accounts: ["admin:accounts"],
  keys: ["admin:keys"],
  audit: ["admin:audit"],
  plain: ["staff"],
  nothing: [],
};
const PART_OF: Readonly<Record<string, AdminPart>> = {
  rules: AdminPart.RULES,
  accounts: AdminPart.ACCOUNTS,
  keys: AdminPart.KEYS,
  audit: AdminPart.AUDIT,
};

async function fill({ call, login }: Pick<Open, "call" | "login">): Promise<Record<string, string>> {
  const admin = await login();
  const tokens: Record<string, string> = {};
  for (const [name, scopes] of Object.entries(SCOPES)) {
    await call(AccountsService.create, { name, password: PASSWORD, scopes }, admin);
    tokens[name] = await login(name, PASSWORD);
  }
  return tokens;
}

const newKey = { name: "ci", lifetime: undefined, resources: [], from: [] } satisfies CreateKeyRequest;

/** What a guard says to a token at an endpoint. */
async function refusalOf({ guard }: TestGateway, endpoint: Endpoint, token: string): Promise<string> {
  try {
    await guard.admit({ token, namespace: undefined, tokenRequired: true, client: "192.0.2.7" }, endpoint);
    return "";
  } catch (error) {
    const { code, message } = StatusError.from(error);
    return `${Code[code]}: ${message}`;
  }
}

t.test("each endpoint admits the holders of its part, by login and by a key with --admin alone", async (t) => {
  const gateway = await openTestGateway(t);
  const tokens = await fill(gateway);
  t.ok(forAdmins.length >= 27, `${forAdmins.length} endpoints`);
  for (const [name, token] of Object.entries(tokens)) {
    const key = await gateway.call(KeysService.create, newKey, token);
    const administers = name in PART_OF || name === "chief";
    const adminKey = administers
      ? (await gateway.call(KeysService.create, { ...newKey, admin: true }, token)).secret
      : undefined;
    for (const endpoint of forAdmins) {
      const mayCall = name === "chief" || (endpoint.adminPart !== undefined && endpoint.adminPart === PART_OF[name]);
      const forbidden = `PERMISSION_DENIED: Forbidden call made to ${endpoint.name} by ${name}`;
      const said = await refusalOf(gateway, endpoint, token);
      t.equal(said === "", mayCall, `${name} at ${endpoint.name}: ${said}`);
      if (!mayCall) t.ok(said.startsWith(forbidden), said);
      if (adminKey !== undefined) t.equal((await refusalOf(gateway, endpoint, adminKey)) === "", mayCall);
      const byKey = await refusalOf(gateway, endpoint, key.secret);
      const needs = ": this API key administers nothing; log in, or create one with --admin";
      t.equal(byKey, mayCall ? `${forbidden}${needs}` : said, "a key without --admin");
    }
  }
});

t.test("a refusal says which scope is missing to who administers something", async (t) => {
  const gateway = await openTestGateway(t);
  const tokens = await fill(gateway);
  const said = async (name: string, at: string) =>
    refusalOf(gateway, endpoints.find(({ name }) => name === at)!, tokens[name]!);
  for (const [name, at, end] of [
    ["rules", "auth:Accounts.List", ", who lacks the scope admin or admin:accounts"],
    ["audit", "auth:Namespaces.List", ", who lacks the scope admin"],
    ["plain", "auth:Accounts.List", ""],
  ] as const) {
    t.equal(await said(name, at), `PERMISSION_DENIED: Forbidden call made to ${at} by ${name}${end}`);
  }
});

t.test("who administers accounts alone does not touch what administers", async (t) => {
  const { call, login } = await open(t);
  const { accounts = "" } = await fill({ call, login });
  const scope = PART_SCOPES.map((name) => [name]);
  for (const name of ["admin", "chief", "rules", "accounts"]) {
    const held = name === "admin" || name === "chief" ? "admin" : `admin:${name}`;
    const message = `name: ${name} holds the scope ${held}; only an account with the scope admin may do this`;
    const denied = { code: Code.PERMISSION_DENIED, message };
    await t.rejects(call(AccountsService.delete, { name }, accounts), denied, "delete");
    await t.rejects(call(AccountsService.setDisabled, { name, disabled: true }, accounts), denied, "disable");
    await t.rejects(call(AccountsService.setScopes, { name, scopes: [] }, accounts), denied, "take");
    const reset = { name, currentPassword: "", newPassword: "a new password" };
    const expected = name === "accounts" ? { message: "current_password: is wrong" } : denied;
    await t.rejects(call(AccountsService.setPassword, reset, accounts), expected, "reset");
  }
  for (const scopes of [["admin"], ["staff", "admin"], ...scope]) {
    const given = scopes.find((one) => one.startsWith("admin"));
    const message = `scopes: only an account with the scope admin may give the scope ${given}`;
    const denied = { code: Code.PERMISSION_DENIED, message };
    await t.rejects(call(AccountsService.create, { name: "new", password: PASSWORD, scopes }, accounts), denied);
    await t.rejects(call(AccountsService.setScopes, { name: "plain", scopes }, accounts), denied);
  }
  await call(AccountsService.create, { name: "new", password: PASSWORD, scopes: ["staff"] }, accounts);
  await call(AccountsService.setScopes, { name: "new", scopes: ["billing"] }, accounts);
  await call(AccountsService.setPassword, { name: "new", currentPassword: "", newPassword: "another one!" }, accounts);
  await call(AccountsService.setDisabled, { name: "new", disabled: true }, accounts);
  await call(AccountsService.delete, { name: "new" }, accounts);
});

t.test("who administers accounts alone takes over none of people whose groups give administration", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { accounts = "" } = await fill({ call, login });
  const claims = { accountClaim: "", trustClaim: false, groupsClaim: "", createAccounts: false, clientId: "portico" };
  for (const [name, scope] of [
    ["chiefs", "admin"],
    ["orders", "admin:on:service:orders:*"],
    ["staff", "staff"],
  ] as const) {
    const signIn = { ...claims, map: [{ group: "all", scope }], mayAdminister: true };
    await call(IssuersService.create, { name, url: "https://a.example", signIn, clientSecret: "" }, admin);
    // Whoever knows the password of the account would have the scopes of the person.
    const of = `of-${name}`;
    await call(AccountsService.create, { name: of, password: PASSWORD, scopes: [] }, accounts);
    const link = (by: string) => call(AccountsService.link, { name: of, issuer: name, subject: "ann" }, by);
    const request = { name: of, currentPassword: "", newPassword: "another one!" };
    const setPassword = (by: string) => call(AccountsService.setPassword, request, by);
    if (scope === "staff") {
      await link(accounts);
      await setPassword(accounts);
      continue;
    }
    const what = `groups of the issuer ${name} give the scope ${scope}`;
    const message = `${what}; only an account with the scope admin may do this`;
    await t.rejects(link(accounts), { code: Code.PERMISSION_DENIED, message });
    await setPassword(accounts);
    await link(admin);
    await t.rejects(setPassword(accounts), { code: Code.PERMISSION_DENIED, message });
    await setPassword(admin);
  }
});

t.test("a scope that begins with admin: must be one of the parts", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  await t.rejects(call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: ["admin:rule"] }, admin), {
    code: Code.INVALID_ARGUMENT,
    message:
      "scopes: admin:rule gives no part of administration; those that do are admin, admin:rules, admin:accounts, " +
      "admin:keys, admin:audit, admin:on:<pattern>",
  });
});

t.test("who administers keys alone makes none with more scopes than his own", async (t) => {
  const { call, login } = await open(t);
  const { keys = "", plain = "", chief = "" } = await fill({ call, login });
  const lacks = (name: string, scope: string) => ({
    code: Code.PERMISSION_DENIED,
    message: new RegExp(`^account: ${name} holds scopes that keys lacks: ${scope}\\.`),
  });
  for (const [account, scope] of [
    ["chief", "admin"],
    ["rules", "admin:rules"],
    ["plain", "staff"],
  ] as const) {
    await t.rejects(call(KeysService.create, { ...newKey, account }, keys), lacks(account, scope));
    await t.rejects(call(KeysService.create, { ...newKey, account, admin: true }, keys), lacks(account, scope));
  }
  const ofPlain = await call(KeysService.create, newKey, plain);
  const ofChief = await call(KeysService.create, { ...newKey, admin: true }, chief);
  for (const [key, name, scope] of [
    [ofPlain, "plain", "staff"],
    [ofChief, "chief", "admin"],
  ] as const) {
    const rotate = call(KeysService.rotate, { prefix: key.key!.prefix, overlap: undefined }, keys);
    await t.rejects(rotate, lacks(name, scope));
  }
  t.match(await call(KeysService.create, { ...newKey, account: "nothing" }, keys), { key: { account: "nothing" } });
  t.equal((await call(KeysService.list, { pageSize: 0, pageToken: "" }, keys)).keys.length, 3, "he sees all");
  await call(KeysService.revoke, { prefix: ofChief.key!.prefix }, keys);
});

t.test("a key that administers nothing gets no key that does", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { secret, key } = await call(KeysService.create, newKey, admin);
  t.equal(key?.admin, false);
  const administering = await call(KeysService.create, { ...newKey, admin: true }, admin);
  t.equal(administering.key?.admin, true);
  await t.rejects(call(KeysService.create, { ...newKey, lifetime: DAY, admin: true }, secret), {
    code: Code.PERMISSION_DENIED,
    message: "admin: this API key administers nothing, so it creates no key that does; log in to",
  });
  const { prefix } = administering.key!;
  await t.rejects(call(KeysService.rotate, { prefix, overlap: undefined }, secret), {
    code: Code.PERMISSION_DENIED,
    message: `prefix: ${prefix} administers, and this API key does not, so it cannot replace it; log in to`,
  });
  const reset = { name: "", currentPassword: "", newPassword: "a new password" };
  await t.rejects(call(AccountsService.setPassword, reset, secret), { message: "current_password: is wrong" });
  await t.rejects(call(KeysService.create, { ...newKey, account: "other", lifetime: DAY }, secret), {
    message: "account: only an administrator may create a key for another account",
  });
  const rotated = await call(KeysService.rotate, { prefix, overlap: undefined }, admin);
  t.equal(rotated.key?.admin, true, "a rotation keeps it");
  t.ok(await call(AuditService.list, ALL_RECORDS, rotated.secret));
  const own = await call(KeysService.rotate, { prefix: key!.prefix, overlap: undefined }, secret);
  t.equal(own.key?.admin, false, "it replaces itself");
});

const DAY = { seconds: 86_400n, nanos: 0 };
const ALL_RECORDS = {
  before: 0n,
  limit: 0,
  filter: "",
  actor: "",
  action: "",
  from: undefined,
  until: undefined,
};

t.test("--admin needs an account that administers, and ends with its scopes", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { plain = "", rules = "" } = await fill({ call, login });
  await t.rejects(call(KeysService.create, { ...newKey, admin: true }, plain), {
    code: Code.FAILED_PRECONDITION,
    message: "admin: plain holds no scope of administration, such as admin; give it one first",
  });
  const { secret } = await call(KeysService.create, { ...newKey, admin: true }, rules);
  const list = () => call(RulesService.list, { pageSize: 0, pageToken: "" }, secret);
  t.ok(await list());
  await call(AccountsService.setScopes, { name: "rules", scopes: [] }, admin);
  await t.rejects(list(), { code: Code.PERMISSION_DENIED });
  const { keys } = await call(KeysService.list, { pageSize: 0, pageToken: "" }, secret);
  t.match(keys, [{ admin: false }], "and is not shown as one that administers");
});

t.test("an account that gets a scope of administration later does not give it to its keys", async (t) => {
  const { call, login } = await open(t);
  const admin = await login();
  const { plain = "" } = await fill({ call, login });
  const { secret } = await call(KeysService.create, newKey, plain);
  await call(AccountsService.setScopes, { name: "plain", scopes: ["admin"] }, admin);
  await t.rejects(call(RulesService.list, { pageSize: 0, pageToken: "" }, secret), {
    code: Code.PERMISSION_DENIED,
    message: /: this API key administers nothing; log in, or create one with --admin$/,
  });
});

t.test("rules give no administration, whatever their scope and resource", async (t) => {
  const gateway = await openTestGateway(t);
  const { call } = gateway;
  const { rules = "", nothing = "" } = await fill(gateway);
  for (const [index, rule] of [
    "<public> granted *:*:*",
    "admin granted *:*:*",
    "admin:rules granted *:*:* 99",
  ].entries()) {
    await call(RulesService.create, { rule: readRule(rule, `r${index}`) }, rules);
  }
  for (const token of [rules, nothing]) {
    for (const endpoint of forAdmins) {
      const mayCall = token === rules && endpoint.adminPart === AdminPart.RULES;
      t.equal((await refusalOf(gateway, endpoint, token)) === "", mayCall, endpoint.name);
    }
  }
  const explain = { account: "", key: "", resource: "service:auth:Accounts.Create" };
  await t.rejects(call(RulesService.explain, explain, rules), { message: /^resource: rules do not govern auth/ });
  const preview = { resources: ["service:auth:Accounts.Create"], change: { $case: "delete", value: "r0" } } as const;
  t.same((await call(RulesService.preview, { ...preview, resources: [...preview.resources] }, rules)).effects, []);
});

t.test("admin:audit reads what concerns others, and changes nothing", async (t) => {
  const { call, login } = await open(t);
  const { audit = "", rules = "" } = await fill({ call, login });
  const usage = { start: undefined, span: undefined, service: "", endpoint: "", account: "chief", key: "" };
  t.ok((await call(AuditService.list, ALL_RECORDS, audit)).records.length > 5);
  t.ok(await call(UsageService.list, usage, audit));
  await t.rejects(call(UsageService.list, usage, rules), { code: Code.PERMISSION_DENIED });
  t.same((await call(KeysService.list, { pageSize: 0, pageToken: "" }, audit)).keys, []);
});

t.test("each part is for its own namespace", async (t) => {
  const gateway = await openTestGateway(t);
  const tokens = await fill(gateway);
  for (const endpoint of forAdmins) {
    const shown = { token: tokens.rules, namespace: "other", tokenRequired: true };
    t.equal(await codeOf(gateway.guard, endpoint, shown), Code.UNAUTHENTICATED, endpoint.name);
  }
});
