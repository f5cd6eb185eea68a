import t from "tap";
import { Code } from "../../../src/errors.js";
import { Access, type Rule, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { open } from "./open.js";

const rule = (fields: Partial<Rule> = {}): Rule => ({
  id: "onlyloggedin",
  scope: "*",
  access: Access.GRANTED,
  resource: "*:*:*",
  priority: 0,
  disabled: false,
  ...fields,
});

t.test("rules", async (t) => {
  const { call, login } = await open(t, { maxRules: 4 });
  const token = await login();
  const ids = async () =>
    (await call(RulesService.list, { pageSize: 0, pageToken: "" }, token)).rules.map(({ id }) => id);

  await t.test("are listed by descending priority and then by ID", async (t) => {
    for (const [id, priority] of Object.entries({ b: 0, a: 0, first: 9 })) {
      await call(RulesService.create, { rule: rule({ id, priority }) }, token);
    }
    t.same(await ids(), ["first", "a", "b", "default"]);
  });

  await t.test("are limited to the maximum number", async (t) => {
    await t.rejects(call(RulesService.create, { rule: rule({ id: "fifth" }) }, token), {
      code: Code.FAILED_PRECONDITION,
      message: "the namespace has 4 rules, the most it may; delete one",
    });
    await call(RulesService.delete, { id: "b" }, token);
    await call(RulesService.create, { rule: rule({ id: "fourth" }) }, token);
  });

  const refused: [what: string, rule: Rule | undefined, code: Code, message: RegExp][] = [
    ["a duplicate", rule({ id: "a" }), Code.ALREADY_EXISTS, /^a rule with the ID a exists already$/],
    ["a request without a rule", undefined, Code.INVALID_ARGUMENT, /^rule: /],
    ["a bad ID", rule({ id: "-" }), Code.INVALID_ARGUMENT, /^rule\.id: /],
    ["no scope", rule({ scope: "" }), Code.INVALID_ARGUMENT, /^rule\.scope: /],
    ["no access", rule({ access: Access.ACCESS_UNSPECIFIED }), Code.INVALID_ARGUMENT, /^rule\.access: /],
    ["two segments", rule({ resource: "service:x" }), Code.INVALID_ARGUMENT, /^rule\.resource: /],
  ];
  for (const [what, rule, code, message] of refused) {
    await t.test(`refuse ${what}`, (t) => t.rejects(call(RulesService.create, { rule }, token), { code, message }));
  }

  await t.test("that do not exist cannot be deleted", (t) =>
    t.rejects(call(RulesService.delete, { id: "x" }, token), {
      code: Code.NOT_FOUND,
      message: "no rule with the ID x",
    }),
  );
});

t.test("Explain returns the decision on a call, and the rule that makes it", async (t) => {
  const { call, login } = await open(t);
  const token = await login();
  const resource = "service:helloworld:Helloworld.Call";
  const denied = rule({ id: "nobody", scope: "*", access: Access.DENIED, priority: 1 });
  await call(RulesService.create, { rule: denied }, token);

  const nobody = await call(RulesService.explain, { account: "", resource, key: "" }, token);
  t.match(nobody, { code: 200, decidedBy: { id: "default" } });
  t.same(
    nobody.matched.map(({ id }) => id),
    ["default"],
  );
  const admin = await call(RulesService.explain, { account: "admin", resource, key: "" }, token);
  t.match(admin, { code: 403, decidedBy: { id: "nobody" } });
  t.same(
    admin.matched.map(({ id }) => id),
    ["nobody", "default"],
  );
  await call(RulesService.delete, { id: "default" }, token);
  t.match(await call(RulesService.explain, { account: "", resource, key: "" }, token), {
    code: 401,
    decidedBy: undefined,
  });

  const refused: [account: string, resource: string, code: Code, message: RegExp][] = [
    ["", "service:helloworld:*", Code.INVALID_ARGUMENT, /^resource: must be without wildcards/],
    ["", "helloworld", Code.INVALID_ARGUMENT, /^resource: /],
    ["", "service:auth:Rules.List", Code.INVALID_ARGUMENT, /^resource: rules do not govern auth/],
    ["nobody", resource, Code.NOT_FOUND, /^no account with the name nobody$/],
  ];
  for (const [account, resource, code, message] of refused) {
    await t.rejects(call(RulesService.explain, { account, resource, key: "" }, token), { code, message });
  }
});
