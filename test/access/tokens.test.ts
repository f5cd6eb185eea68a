// What a token allows: at endpoints open to all, to logged-in callers, to a scope; in its namespace
// and in another; on paths that need a token (`/v1`) and on others.
import t from "tap";
import { createToken } from "../../src/call/token.js";
import { Callers } from "../../src/contract/endpoint.js";
import { Code, StatusError } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { declaring, endpointAt } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { ask, joinAt, openTestGateway, type TestGateway } from "./test-gateway.js";

const PASSWORD = "a password for all";
const HOUR = 3_600_000;

const RULES = {
  default: [
    "<public> granted service:open:*",
    "* granted service:members:*",
    "staff granted service:staff:*",
    "<public> granted service:banned:*",
    "staff denied service:banned:* 1",
  ],
  other: ["<public> granted service:open:*", "* granted service:members:*"],
};

const ENDPOINTS = {
  open: endpointAt("service:open:Open.Call"),
  members: endpointAt("service:members:Members.Call"),
  staff: endpointAt("service:staff:Staff.Call"),
  banned: endpointAt("service:banned:Banned.Call"),
  closed: endpointAt("service:closed:Closed.Call"),
  forAll: declaring(Callers.PUBLIC),
  forAccounts: declaring(Callers.ACCOUNT),
  forAdmins: declaring(Callers.ADMIN),
  forEnrolled: declaring(Callers.ENROLLED),
};

/**
 * The owner of the token: bob (with the scope `staff`), a stranger (of the namespace `other`), an
 * administrator …
 */
type Token = "none" | "bob" | "stranger" | "admin" | "key" | "enrolled" | "expired" | "loggedOut" | "refresh" | Garbage;
type Garbage = "made up" | "mistyped" | "empty";

type Row = readonly [
  token: Token,
  at: keyof typeof ENDPOINTS,
  outcome: "nobody" | "bob" | "stranger" | "admin" | "gateway" | 401 | 403,
  namespace?: string | undefined,
  v1?: "v1",
];

// biome-ignore format: a row a line reads as a table.
const rows: readonly Row[] = [
  ["none", "open", "nobody"],
  ["none", "open", 401, undefined, "v1"],
  ["none", "members", 401],
  ["none", "banned", "nobody"],
  ["none", "closed", 401],
  ["none", "open", "nobody", "other"],

  // A known account may be forbidden even if a rule grants the call, because of another rule.
  ["bob", "open", "bob"],
  ["bob", "open", "bob", undefined, "v1"],
  ["bob", "members", "bob"],
  ["bob", "members", "bob", undefined, "v1"],
  ["bob", "staff", "bob"],
  ["bob", "banned", 403],
  ["bob", "banned", 403, undefined, "v1"],
  ["bob", "closed", 401],
  ["bob", "closed", 401, undefined, "v1"],

  // In another namespace than its own, a token's caller is unauthenticated.
  ["stranger", "members", "stranger"],
  ["stranger", "staff", 401],
  ["stranger", "members", "stranger", "other", "v1"],
  ["stranger", "members", 401, "default"],
  ["stranger", "open", "nobody", "default"],
  ["stranger", "open", 401, "default", "v1"],
  ["bob", "members", 401, "other"],
  ["bob", "open", "nobody", "other"],
  ["bob", "open", 401, "other", "v1"],
  ["bob", "banned", 401, "other"], // unauthenticated there, and no rule applies
  ["stranger", "banned", "nobody", "default"], // a rule that denies the scope `staff` does not deny an unauthenticated caller
  ["bob", "members", 401, ""], // no namespace has an empty name

  // An invalid token counts as no token, and is refused if one is required.
  ...(["expired", "loggedOut", "refresh", "made up", "mistyped", "empty"] as const).flatMap((token): Row[] => [
    [token, "open", "nobody"],
    [token, "open", 401, undefined, "v1"],
    [token, "members", 401],
    [token, "forAll", "nobody"],
    [token, "forAccounts", 401],
  ]),

  // An enrolled caller is no account.
  ["enrolled", "forEnrolled", "gateway"],
  ["enrolled", "open", "nobody"],
  ["enrolled", "open", 401, undefined, "v1"],
  ["enrolled", "members", 401],
  ["enrolled", "forAll", "nobody"],
  ["enrolled", "forAccounts", 401],
  ["enrolled", "forAdmins", 401],

  // Endpoints that declare their callers, whatever the rules.
  ["none", "forAll", "nobody"],
  ["none", "forAll", 401, undefined, "v1"],
  ["none", "forAccounts", 401],
  ["none", "forAdmins", 401],
  ["none", "forEnrolled", 401],
  ["bob", "forAll", "bob"],
  ["bob", "forAccounts", "bob"],
  ["bob", "forAccounts", "bob", undefined, "v1"],
  ["bob", "forAccounts", 401, "other"],
  ["bob", "forAdmins", 403],
  ["bob", "forEnrolled", 403],
  ["stranger", "forAccounts", "stranger"],
  ["stranger", "forAdmins", 403],
  ["admin", "forAdmins", "admin"],
  ["admin", "forAdmins", 401, "other"],
  ["admin", "forEnrolled", 403],

  // A key that is limited to `service:members:*` and `service:closed:*` is denied every other
  // endpoint that depends on the caller …
  ["key", "members", "bob"],
  ["key", "members", "bob", undefined, "v1"],
  ["key", "staff", 403],
  ["key", "open", 403],
  ["key", "forAll", "bob"],
  ["key", "forAll", "bob", undefined, "v1"],
  ["key", "forAccounts", 403],
  ["key", "forAdmins", 403],
  ["key", "banned", 403],
  // … and grants nothing that the rules do not.
  ["key", "closed", 401],
  ["key", "open", "nobody", "other"], // where the key does not count, its limits do not either
];

t.test("each kind of token, at each kind of endpoint", async (t) => {
  let ahead = 0;
  const gateway = await openTestGateway(t, { clock: () => Date.now() + ahead });
  const tokens = await prepare(gateway, () => {
    ahead += 2 * HOUR;
  });
  const guard = await joinAt(t, gateway.channel, gateway.enrolment);

  for (const [token, at, outcome, namespace, v1] of rows) {
    const where = `${namespace === undefined ? "" : ` in ${namespace || "the empty namespace"}`}${v1 ? " on /v1" : ""}`;
    await t.test(`${token} at ${at}${where}: ${outcome}`, async (t) => {
      const shown = { token: tokens[token], namespace, tokenRequired: v1 !== undefined };
      const endpoint = ENDPOINTS[at];
      try {
        const { caller, namespace: entered, endpoint: admitted } = await ask(guard, endpoint, shown);
        t.equal(caller === undefined ? "nobody" : caller.enrolment || caller.account, outcome);
        t.equal(entered, namespace ?? (caller?.account === "stranger" ? "other" : "default"));
        t.equal(admitted, endpoint);
      } catch (error) {
        const name = token === "key" ? "bob" : token;
        const why = LIMITED.has(`${token} at ${at}`) ? KEY_IS_LIMITED : "";
        t.match(error, outcome === 403 ? forbidden(endpoint.name, name) : unauthorized(endpoint.name));
        t.equal(StatusError.from(error).message.split(": ")[1] ?? "", why);
        t.type(outcome, "number");
      }
    });
  }
});

/** Calls that rules or declarations grant, and the key's limits refuse. */
const LIMITED: ReadonlySet<string> = new Set(["key at staff", "key at open", "key at forAccounts"]);
const KEY_IS_LIMITED = "API key limited is limited to service:members:*, service:closed:*";

function unauthorized(endpoint: string): StatusError {
  return new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint}`);
}

function forbidden(endpoint: string, account: string): StatusError {
  return new StatusError(Code.PERMISSION_DENIED, `Forbidden call made to ${endpoint} by ${account}`);
}

/** Creates rules, accounts and tokens of every kind. */
async function prepare(
  { call, login, enrolment, admin: first }: TestGateway,
  letTimePass: () => void,
): Promise<Record<Token, string | undefined>> {
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: ["staff"] }, first);
  const expired = await login("bob", PASSWORD);
  letTimePass();

  const admin = await login();
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, admin);
  const otherAdmin = await login("admin", adminPassword, "other");
  await call(AccountsService.create, { name: "stranger", password: PASSWORD, scopes: ["staff"] }, otherAdmin);
  await call(RulesService.delete, { id: "default" }, admin);
  for (const [namespace, rules] of Object.entries(RULES)) {
    const by = namespace === "default" ? admin : otherAdmin;
    for (const [index, rule] of rules.entries()) {
      await call(RulesService.create, { rule: readRule(rule, `r${index}`) }, by);
    }
  }

  const bob = await login("bob", PASSWORD);
  const resources = ["service:members:*", "service:closed:*"];
  const key = await call(KeysService.create, { name: "limited", lifetime: undefined, resources, from: [] }, bob);
  const loggedOut = await login("bob", PASSWORD);
  await call(AuthService.logout, { everywhere: false }, loggedOut);
  const { refreshToken } = await call(AuthService.login, { account: "bob", password: PASSWORD, namespace: "" });
  return {
    none: undefined,
    bob,
    stranger: await login("stranger", PASSWORD, "other"),
    admin,
    key: key.secret,
    enrolled: enrolment,
    expired,
    loggedOut,
    refresh: refreshToken,
    "made up": createToken("access"),
    mistyped: `${bob.slice(0, -1)}${bob.endsWith("0") ? "1" : "0"}`,
    empty: "",
  };
}
