import t from "tap";
import { Code } from "../../../src/errors.js";
import { AuditService, ListAuditRequest } from "../../../src/gen/portico/auth/v1/audit.js";
import { Access, type Rule, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { open } from "./open.js";
import { Watch } from "./watch.js";

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

t.test("a rule is set in one change", async (t) => {
  const { call, login, channel } = await open(t);
  const token = await login();
  const resource = "service:helloworld:Helloworld.Call";
  const set = (fields: Partial<Rule>, expected?: Rule) =>
    call(RulesService.set, { rule: { ...closed, ...fields }, expected }, token);
  const codeOf = async () => (await call(RulesService.explain, { account: "admin", resource, key: "" }, token)).code;
  const closed = rule({ id: "closed", access: Access.DENIED, priority: 1 });
  await call(RulesService.create, { rule: closed }, token);

  await t.test("and guards apply all of it at once", async (t) => {
    const watch = new Watch(t, channel);
    watch.start();
    await watch.next("snapshot");
    t.match(await set({ resource }), { ...closed, resource });
    const { changes } = await watch.next("changes");
    t.match(changes, [
      { change: { $case: "ruleDeleted", value: { id: "closed", resource: "*:*:*" } } },
      { change: { $case: "ruleCreated", value: { rule: { id: "closed", resource } } } },
    ]);
    const listed = (await call(RulesService.list, { pageSize: 0, pageToken: "" }, token)).rules;
    t.match(listed, [{ id: "closed", resource }, { id: "default" }]);
    t.equal(await codeOf(), 403);
  });

  await t.test("and the audit trail has one record that names what changed", async (t) => {
    await set({ resource, scope: "staff", priority: 5 });
    const { records } = await call(AuditService.list, ListAuditRequest.fromPartial({ limit: 1 }), token);
    t.match(records, [{ actor: "admin", action: "rule changed", subject: "closed: scope, priority" }]);
  });

  await t.test("if it is as the caller believes, if the caller says so", async (t) => {
    await t.rejects(set({ disabled: true }, closed), {
      code: Code.ABORTED,
      message: "the rule closed was changed meanwhile; list it and try again",
    });
    t.ok(await set({ disabled: true }, rule({ ...closed, resource, scope: "staff", priority: 5 })));
  });

  await t.test("if it exists and is valid", async (t) => {
    await t.rejects(set({ id: "x" }), { code: Code.NOT_FOUND, message: "no rule with the ID x" });
    await t.rejects(set({ scope: "" }), { code: Code.INVALID_ARGUMENT, message: /^rule\.scope: / });
    const request = { rule: undefined, expected: undefined };
    await t.rejects(call(RulesService.set, request, token), { code: Code.INVALID_ARGUMENT, message: /^rule: / });
  });
});

t.test("a disabled rule decides nothing", async (t) => {
  const opened = await open(t);
  const { call, channel, login } = opened;
  const token = await login();
  const resource = "service:helloworld:Helloworld.Call";
  const closed = rule({ id: "closed", access: Access.DENIED, priority: 1 });
  const ask = { account: "admin", resource, key: "" };
  await call(RulesService.create, { rule: { ...closed, disabled: true } }, token);

  await t.test("is listed and explained as disabled", async (t) => {
    const { rules } = await call(RulesService.list, { pageSize: 0, pageToken: "" }, token);
    t.match(rules, [
      { id: "closed", disabled: true },
      { id: "default", disabled: false },
    ]);
    const explained = await call(RulesService.explain, ask, token);
    t.match(explained, { code: 200, decidedBy: { id: "default" }, disabled: [{ id: "closed", disabled: true }] });
    t.same(
      explained.matched.map(({ id }) => id),
      ["default"],
    );
    const elsewhere = await call(RulesService.explain, { ...ask, account: "" }, token);
    t.same(elsewhere.disabled, [], "only where it would match");
  });

  await t.test("is not sent to guards, because guards of earlier versions would decide by it", async (t) => {
    const watch = new Watch(t, channel);
    watch.start();
    const { namespaces } = await watch.next("snapshot");
    t.match(namespaces, [{ rules: [{ id: "default" }] }]);
    t.equal(namespaces[0]?.rules.length, 1);
    const sent = async (disabled: boolean) => {
      await call(RulesService.set, { rule: { ...closed, disabled }, expected: undefined }, token);
      return (await watch.next("changes")).changes.map(({ change }) => change?.$case);
    };
    t.same(await sent(false), ["ruleCreated"]);
    t.equal((await call(RulesService.explain, ask, token)).code, 403, "switched on, it decides");
    t.same(await sent(true), ["ruleDeleted"]);
    await call(RulesService.delete, { id: "closed" }, token);
    watch.sendPing();
    t.same((await watch.next("changes")).changes, [], "nor is its deletion");
  });

  await t.test("stays disabled when the authority starts again", async (t) => {
    await call(RulesService.create, { rule: { ...closed, disabled: true } }, token);
    await opened.close();
    const again = await open(t, { folder: opened.folder });
    const { rules } = await again.call(RulesService.list, { pageSize: 0, pageToken: "" }, await again.login());
    t.match(rules, [{ id: "closed", disabled: true }, { id: "default" }]);
  });
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
