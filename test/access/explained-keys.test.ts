// What `Explain` returns for an API key is what a guard decides for it.
import t from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { type ExplainRequest, RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { PASSWORD } from "../services/auth/open.js";
import { endpointAt } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { ask, openTestGateway } from "./test-gateway.js";

const gateway = await openTestGateway(t);
const { call, admin, guard } = gateway;
await call(RulesService.delete, { id: "default" }, admin);
const RULES = [
  "<public> granted service:open:* 0",
  "* granted service:members:* 0",
  "staff granted service:staff:* 0",
  "<public> granted service:banned:* 0",
  "staff denied service:banned:* 0",
];
for (const [index, rule] of RULES.entries()) {
  await call(RulesService.create, { rule: readRule(rule, `r${index}`) }, admin);
}
for (const name of ["bob", "ann"]) {
  await call(AccountsService.create, { name, password: PASSWORD, scopes: name === "bob" ? ["staff"] : [] }, admin);
}
const logins = { bob: await gateway.login("bob"), ann: await gateway.login("ann") };

async function createKey(account: "bob" | "ann", name: string, resources: string[]) {
  const { secret, key } = await call(
    KeysService.create,
    { name, lifetime: undefined, resources, from: [] },
    logins[account],
  );
  return { secret, prefix: key?.prefix ?? "", name, account };
}

const explain = (request: Partial<ExplainRequest>, token = admin) =>
  call(RulesService.explain, { account: "", key: "", resource: "service:open:Open.Call", ...request }, token);

const KEYS = [
  await createKey("bob", "whole", []),
  await createKey("bob", "deploy", ["service:members:*"]),
  await createKey("bob", "several", ["service:a:*", "service:b:*", "service:staff:*", "service:c:*", "service:d:*"]),
  await createKey("ann", "narrow", ["service:open:Open.Other", "service:staff:*"]),
];
const RESOURCES = ["open", "members", "staff", "banned", "closed"].map((name) => `service:${name}:Open.Call`);
const STATUS: Partial<Record<Code, number>> = { [Code.UNAUTHENTICATED]: 401, [Code.PERMISSION_DENIED]: 403 };

for (const { secret, prefix, name, account } of KEYS) {
  t.test(`the key ${name} is explained as a guard decides`, async (t) => {
    for (const resource of RESOURCES) {
      const refusal = await ask(guard, endpointAt(resource), { token: secret }).then(
        () => undefined,
        (error) => StatusError.from(error),
      );
      const explained = await explain({ key: prefix, resource });
      t.equal(explained.code, refusal === undefined ? 200 : STATUS[refusal.code], resource);
      t.equal(explained.limited, refusal?.message.includes(" is limited to ") ?? false, resource);
      t.match(explained.key, { prefix, name, account });
    }
  });
}

t.test("a refusal by a key's limits names the key and some of the limits, never the key itself", async (t) => {
  const messageOf = async ({ secret }: { secret: string }, resource: string): Promise<string> =>
    ask(guard, endpointAt(resource), { token: secret }).then(
      () => "",
      (error) => error.message,
    );
  const [, deploy, several] = KEYS as [(typeof KEYS)[0], (typeof KEYS)[0], (typeof KEYS)[0]];
  t.equal(
    await messageOf(deploy, "service:staff:Open.Call"),
    "Forbidden call made to staff:Open.Call by bob: API key deploy is limited to service:members:*",
  );
  t.equal(
    await messageOf(several, "service:open:Open.Call"),
    "Forbidden call made to open:Open.Call by bob: API key several is limited to " +
      "service:a:*, service:b:*, service:staff:* and 2 more",
  );
  t.equal(await messageOf(deploy, "service:banned:Open.Call"), "Forbidden call made to banned:Open.Call by bob");
});

t.test("a key is found by its prefix, or by a name that only one key has", async (t) => {
  const twins = [await createKey("bob", "twin", []), await createKey("ann", "twin", [])];
  const [first, second] = twins.map(({ prefix }) => prefix) as [string, string];
  t.match(await explain({ key: "narrow" }), { key: { account: "ann" } });
  t.match(await explain({ key: first }), { key: { account: "bob" } });
  t.match(await explain({ key: "twin", account: "ann" }), { key: { prefix: second } });

  const refused: [request: Partial<ExplainRequest>, code: Code, message: string][] = [
    [
      { key: "twin" },
      Code.INVALID_ARGUMENT,
      `key: several keys have the name twin; give the prefix of one: ${second} of ann, ${first} of bob`,
    ],
    [{ key: "none" }, Code.NOT_FOUND, "no key with the prefix or the name none"],
    [{ key: first, account: "ann" }, Code.NOT_FOUND, `no key of ann with the prefix or the name ${first}`],
    [{ key: "twin", account: "eve" }, Code.NOT_FOUND, "no account with the name eve"],
    [
      { key: KEYS[0]!.secret },
      Code.INVALID_ARGUMENT,
      "key: must be a prefix, such as ptk_4fGh81, or a name; never the key itself",
    ],
  ];
  for (const [request, code, message] of refused) {
    const error = await explain(request).catch((error) => error);
    t.equal(error.code, code);
    t.equal(error.message, message);
  }
  await call(KeysService.revoke, { prefix: first }, admin);
  t.match(await explain({ key: "twin" }), { key: { prefix: second } }, "a revoked key is none");
});

t.test("only an administrator of the key's namespace may explain it", async (t) => {
  const { prefix } = KEYS[0]!;
  await t.rejects(explain({ key: prefix }, logins.bob), { code: Code.PERMISSION_DENIED });
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, admin);
  const other = await gateway.login("admin", adminPassword, "other");
  await t.rejects(explain({ key: prefix }, other), { code: Code.NOT_FOUND });
});
