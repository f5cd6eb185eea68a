// Every row of the table of rules, created at a real authority and decided by a guard that follows
// it.
import t from "tap";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { rows } from "../cases/rules.js";
import { endpointAt } from "./endpoints.js";
import { readRules } from "./read-rule.js";
import { codeOf, openTestGateway } from "./test-gateway.js";

const CODE: Record<number, number> = { 200: Code.OK, 401: Code.UNAUTHENTICATED, 403: Code.PERMISSION_DENIED };
const PASSWORD = "a password for bob";

t.test("a guard decides as the table of rules says", async (t) => {
  const { call, login, guard, admin: first } = await openTestGateway(t);
  const { adminPassword } = await call(NamespacesService.create, { name: "other" }, first);
  const admins = new Map([
    ["default", first],
    ["other", await login("admin", adminPassword, "other")],
  ]);
  const bobs = new Map<string, string>();
  for (const [namespace, admin] of admins) {
    await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: [] }, admin);
    bobs.set(namespace, await login("bob", PASSWORD, namespace));
  }
  await call(RulesService.delete, { id: "default" }, first);

  for (const row of rows.filter(({ impossible }) => impossible === undefined)) {
    await t.test(row.what, async (t) => {
      const rules = readRules(row.rules);
      const home = row.home ?? "default";
      for (const [namespace, list] of rules) {
        for (const rule of list) await call(RulesService.create, { rule }, admins.get(namespace));
      }
      if (row.scopes) await call(AccountsService.setScopes, { name: "bob", scopes: [...row.scopes] }, admins.get(home));
      const shown = { token: row.scopes && bobs.get(home), namespace: row.asked };
      const endpoint = endpointAt(row.resource ?? "service:helloworld:Helloworld.Call");
      t.equal(await codeOf(guard, endpoint, shown), CODE[row.expect]);
      for (const [namespace, list] of rules) {
        for (const { id } of list) await call(RulesService.delete, { id }, admins.get(namespace));
      }
    });
  }
});
