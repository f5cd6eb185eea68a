import t from "tap";
import { Code } from "../../src/errors.js";
import { Access, type Rule, RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { open } from "./open.js";

const rule = (fields: Partial<Rule> = {}): Rule => ({
  id: "onlyloggedin",
  scope: "*",
  access: Access.GRANTED,
  resource: "*:*:*",
  priority: 0,
  ...fields,
});

t.test("a fresh installation has the rule default", async (t) => {
  const { call, login } = await open(t);
  const { rules } = await call(RulesService.list, {}, await login());
  t.match(rules, [{ id: "default", scope: "<public>", access: Access.GRANTED, resource: "*:*:*", priority: 0 }]);
  t.equal(rules.length, 1);
});

t.test("deleting the last rule is lasting", async (t) => {
  const folder = t.testdir();
  const before = await open(t, { folder });
  await before.call(RulesService.delete, { id: "default" }, await before.login());
  await before.close();
  const after = await open(t, { folder });
  t.same((await after.call(RulesService.list, {}, await after.login())).rules, []);
});
