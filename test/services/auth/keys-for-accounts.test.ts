/** services/auth/endpoints/keys.ts: for which accounts a caller may create and rotate keys. */
import t from "tap";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { type CreateKeyRequest, KeysService } from "../../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { isGood, type Open, open, PASSWORD } from "./open.js";

const DAY = 86_400;
const days = (count: number) => ({ seconds: BigInt(count * DAY), nanos: 0 });
const ci = { name: "ci", lifetime: undefined, resources: [], from: [] };

/** Every account, with its scopes. `robot` has no password. */
const ACCOUNTS: Readonly<Record<string, string[]>> = {
  chief: ["admin", "staff"],
  plain: ["admin"],
  bob: ["staff", "billing"],
  robot: ["staff"],
  carl: [],
};

/** Creates the accounts, and a namespace `other` with an administrator `outsider`. */
async function fill({ call, login }: Open): Promise<(maker: string) => Promise<string>> {
  const token = await login();
  for (const [name, scopes] of Object.entries(ACCOUNTS)) {
    const password = name === "robot" ? { password: "", withoutPassword: true } : { password: PASSWORD };
    await call(AccountsService.create, { name, scopes, ...password }, token);
  }
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, token);
  const admin = await login("admin", adminPassword, "other");
  await call(AccountsService.create, { name: "outsider", scopes: ["admin"], password: PASSWORD }, admin);
  return (maker) => login(maker, PASSWORD, maker === "outsider" ? "other" : "default");
}

const ONLY_ADMIN = {
  code: Code.PERMISSION_DENIED,
  message: "account: only an administrator may create a key for another account",
};
const absent = (name: string) => ({ code: Code.NOT_FOUND, message: `no account with the name ${name}` });
const lacks = (message: string) => ({
  code: Code.PERMISSION_DENIED,
  message: `account: ${message}. An account that holds them can create the key`,
});

/** For whom a maker may create a key: the account, or the error. */
const CASES: readonly [maker: string, account: string, result: string | { code: Code; message: string }][] = [
  ["chief", "", "chief"],
  ["chief", "chief", "chief"],
  ["chief", "robot", "robot"],
  ["chief", "carl", "carl"],
  ["chief", "plain", "plain"],
  ["chief", "bob", lacks("bob holds scopes that chief lacks: billing")],
  ["plain", "chief", lacks("chief holds scopes that plain lacks: staff")],
  ["plain", "bob", lacks("bob holds scopes that plain lacks: staff, billing")],
  ["chief", "nobody", absent("nobody")],
  // Accounts of another namespace do not exist for it.
  ["chief", "outsider", absent("outsider")],
  ["outsider", "carl", absent("carl")],
  ["carl", "carl", "carl"],
  // The same whether the account exists or not.
  ["carl", "bob", ONLY_ADMIN],
  ["carl", "nobody", ONLY_ADMIN],
];

t.test("a caller creates keys for accounts that it administers and whose scopes it has", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const tokenOf = await fill(opened);
  for (const [maker, account, result] of CASES) {
    const creating = call(KeysService.create, { ...ci, account }, await tokenOf(maker));
    const name = `${maker} for ${account}`;
    if (typeof result !== "string") {
      await t.rejects(creating, result, name);
      continue;
    }
    const { secret, key } = await creating;
    t.equal(key?.account, result, name);
    t.match(await call(AuthService.whoAmI, {}, secret), { account: result, namespace: "default" });
  }
});

t.test("a key creates no key with more permissions or time than its own", async (t) => {
  const opened = await open(t, { clock: () => 1_800_000_000_000 });
  const { call } = opened;
  const tokenOf = await fill(opened);
  const chief = await tokenOf("chief");
  const create = async (fields: Partial<CreateKeyRequest>, token: string) =>
    (await call(KeysService.create, { ...ci, ...fields }, token)).secret;
  const limited = await create({ resources: ["*:*:*"] }, chief);
  const short = await create({ lifetime: days(10), admin: true }, chief);
  const ofRobot = await create({ account: "robot", lifetime: days(10) }, short);
  const refused: [token: string, fields: Partial<CreateKeyRequest>, message: RegExp][] = [
    [limited, { account: "robot" }, /^A key that is limited to resources cannot create keys$/],
    [limited, { account: "robot", resources: ["*:*:*"] }, /^A key that is limited to resources cannot create keys$/],
    [short, { account: "robot", lifetime: days(11) }, /^lifetime: a key cannot create one that outlives it/],
    [short, { account: "robot" }, /^lifetime: /],
    [short, { account: "bob", lifetime: days(1) }, /^account: bob holds scopes that chief lacks/],
    [ofRobot, { account: "chief", lifetime: days(1) }, /^account: only an administrator/],
    [ofRobot, { lifetime: days(11) }, /^lifetime: /],
  ];
  for (const [token, fields, message] of refused) {
    await t.rejects(create(fields, token), { code: Code.PERMISSION_DENIED, message });
  }
  t.ok(await isGood(opened, await create({ lifetime: days(10) }, ofRobot)), "robot's key creates one for robot");
});

t.test("a new key is checked against the scopes that the accounts have at that time", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const tokenOf = await fill(opened);
  const chief = await tokenOf("chief");
  await call(AccountsService.setScopes, { name: "robot", scopes: ["staff", "billing"] }, await login());
  await t.rejects(
    call(KeysService.create, { ...ci, account: "robot" }, chief),
    lacks("robot holds scopes that chief lacks: billing"),
  );
  await call(AccountsService.setScopes, { name: "chief", scopes: ["admin", "staff", "billing"] }, await login());
  t.ok(await call(KeysService.create, { ...ci, account: "robot" }, chief));
  await call(AccountsService.delete, { name: "robot" }, await login());
  await t.rejects(call(KeysService.create, { ...ci, account: "robot" }, chief), absent("robot"));
});

t.test("a key is rotated by those who may create it, because they read the new secret", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const tokenOf = await fill(opened);
  const { secret, key } = await call(KeysService.create, { ...ci, account: "robot" }, await tokenOf("chief"));
  const rotate = async (maker: string, prefix = key?.prefix ?? "") =>
    call(KeysService.rotate, { prefix, overlap: undefined }, await tokenOf(maker));
  await t.rejects(rotate("plain"), lacks("robot holds scopes that plain lacks: staff"));
  await t.rejects(rotate("carl"), { code: Code.NOT_FOUND });
  t.ok(await isGood(opened, secret), "a refused rotation leaves the key as it is");
  const rotated = await rotate("chief");
  t.match(await call(AuthService.whoAmI, {}, rotated.secret), { account: "robot" });
  await call(KeysService.revoke, { prefix: rotated.key?.prefix ?? "" }, await tokenOf("plain"));
  t.notOk(await isGood(opened, rotated.secret), "an administrator revokes any key");
});

t.test("the audit trail names the maker of a key, and the key's account if it is another one", async (t) => {
  const opened = await open(t);
  const { call } = opened;
  const token = await (await fill(opened))("chief");
  const own = await call(KeysService.create, ci, token);
  const others = await call(KeysService.create, { ...ci, account: "robot" }, token);
  const { records } = await call(AuditService.list, { ...ALL_RECORDS, before: 0n, limit: 2 }, token);
  t.same(
    records.map(({ actor, action, subject }) => [actor, action, subject]),
    [
      ["chief", "key created", `${others.key?.prefix} of robot`],
      ["chief", "key created", own.key?.prefix],
    ],
  );
});
