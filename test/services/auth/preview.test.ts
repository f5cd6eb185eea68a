// The callers whose calls would get another status if a rule were created or deleted.
import t from "tap";
import { previewOf } from "../../../services/auth/endpoints/preview.js";
import { Code } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import {
  Access,
  type Effect,
  type PreviewRequest,
  type Rule,
  RulesService,
} from "../../../src/gen/portico/auth/v1/rules.js";
import { type Open, open, PASSWORD } from "./open.js";

const CALL = "service:helloworld:Helloworld.Call";
const STREAM = "service:helloworld:Helloworld.Stream";
const GONE = "service:gone:Gone.Call";
const AUTH = "service:auth:Rules.List";

const rule = (id: string, fields: Partial<Rule> = {}): Rule => ({
  id,
  scope: "<public>",
  access: Access.GRANTED,
  resource: "*:*:*",
  priority: 0,
  disabled: false,
  ...fields,
});
const effect = (before: number, after: number, resources: string[], callers: Partial<Effect>): Effect => ({
  ...{ before, after, resources, nobody: false, everyAccount: false, accounts: [], moreAccounts: 0 },
  ...callers,
});
const everyone = { nobody: true, everyAccount: true };

interface Case {
  /** The accounts are admin, ann without scopes, and bob with the scope billing. */
  readonly rules: readonly Rule[];
  readonly change: PreviewRequest["change"];
  readonly resources?: readonly string[];
  readonly effects: readonly Effect[];
}

const deleting = (id: string): PreviewRequest["change"] => ({ $case: "delete", value: id });
const creating = (...args: Parameters<typeof rule>): PreviewRequest["change"] => ({
  $case: "create",
  value: rule(...args),
});

const setting = (...args: Parameters<typeof rule>): PreviewRequest["change"] => ({
  $case: "set",
  value: rule(...args),
});

const cases: Record<string, Case> = {
  "deleting the only rule closes everything that rules govern to everyone": {
    rules: [rule("default")],
    change: deleting("default"),
    resources: [CALL, AUTH, STREAM, CALL],
    effects: [effect(200, 401, [CALL, STREAM], everyone)],
  },
  "deleting a rule changes nothing if another rule has the same effect": {
    rules: [rule("default"), rule("other", { priority: -1 })],
    change: deleting("default"),
    effects: [],
  },
  "a rule that denies an agent affects its calls, and no account": {
    rules: [rule("default"), rule("billing", { scope: "billing", resource: CALL, access: Access.DENIED })],
    change: creating("no-app", { scope: "agent:app", access: Access.DENIED }),
    effects: [
      effect(200, 403, [CALL], { accounts: ["admin", "ann"], agent: "agent:app" }),
      effect(200, 403, [STREAM, GONE], { everyAccount: true, agent: "agent:app" }),
    ],
  },
  "a rule that grants to an agent gives nothing that the accounts have not": {
    rules: [rule("billing", { scope: "billing", resource: CALL })],
    change: creating("app", { scope: "agent:app" }),
    effects: [],
  },
  "callers with another matching rule are not affected": {
    rules: [rule("default"), rule("billing", { scope: "billing", resource: CALL })],
    change: deleting("default"),
    effects: [
      effect(200, 401, [CALL], { nobody: true, accounts: ["admin", "ann"] }),
      effect(200, 401, [STREAM, GONE], everyone),
    ],
  },
  "a denial changes 200 to 403 for accounts, and to 401 for unauthenticated callers": {
    rules: [rule("default")],
    change: creating("closed", { access: Access.DENIED, priority: 1, resource: "service:helloworld:*" }),
    effects: [
      effect(200, 401, [CALL, STREAM], { nobody: true }),
      effect(200, 403, [CALL, STREAM], { everyAccount: true }),
    ],
  },
  "a rule for logged-in callers does not affect unauthenticated callers": {
    rules: [],
    change: creating("onlyloggedin", { scope: "*", resource: GONE }),
    effects: [effect(401, 200, [GONE], { everyAccount: true })],
  },
  "a rule for a scope affects the accounts that have it": {
    rules: [],
    change: creating("billing", { scope: "billing", resource: CALL }),
    effects: [effect(401, 200, [CALL], { accounts: ["bob"] })],
  },
  "a rule for a scope that no account has changes nothing": {
    rules: [],
    change: creating("nobody", { scope: "shipping" }),
    effects: [],
  },
  "a rule that is set to another scope takes from some, and gives to others": {
    rules: [rule("some", { scope: "billing", resource: CALL })],
    change: setting("some", { scope: "<public>", resource: STREAM }),
    effects: [effect(401, 200, [STREAM], everyone), effect(200, 401, [CALL], { accounts: ["bob"] })],
  },
  "a rule that is switched off is as one that is deleted": {
    rules: [rule("default")],
    change: setting("default", { disabled: true }),
    effects: [effect(200, 401, [CALL, STREAM, GONE], everyone)],
  },
  "a disabled rule changes nothing when it is deleted": {
    rules: [rule("default", { disabled: true })],
    change: deleting("default"),
    effects: [],
  },
  "a rule changes nothing where a rule with a higher priority decides": {
    rules: [rule("closed", { access: Access.DENIED, priority: 9 })],
    change: creating("open", { priority: 8, scope: "billing" }),
    // Where a granting rule also matches, a known caller gets 403 instead of 401.
    effects: [effect(401, 403, [CALL, STREAM, GONE], { accounts: ["bob"] })],
  },
};

const withoutUnknown = ({ _unknownFields, ...effect }: Effect): Effect => effect;

async function withRules(opened: Open, token: string, rules: readonly Rule[]): Promise<void> {
  const { call } = opened;
  for (const { id } of (await call(RulesService.list, { pageSize: 0, pageToken: "" }, token)).rules)
    await call(RulesService.delete, { id }, token);
  for (const rule of rules) await call(RulesService.create, { rule }, token);
}

t.test("preview", async (t) => {
  const opened = await open(t);
  const { call, login } = opened;
  const token = await login();
  await call(AccountsService.create, { name: "ann", password: PASSWORD, scopes: [] }, token);
  await call(AccountsService.create, { name: "bob", password: PASSWORD, scopes: ["billing"] }, token);
  const list = async () => (await call(RulesService.list, { pageSize: 0, pageToken: "" }, token)).rules;

  for (const [what, { rules, change, resources = [CALL, STREAM, GONE], effects }] of Object.entries(cases)) {
    await t.test(what, async (t) => {
      await withRules(opened, token, rules);
      const before = await list();
      const response = await call(RulesService.preview, { change, resources: [...resources] }, token);
      t.same(response.effects.map(withoutUnknown), effects);
      t.same(await list(), before, "nothing was changed");
    });
  }

  await t.test("a preview shows the same as Explain after the change", async (t) => {
    await withRules(opened, token, [rule("default"), rule("billing", { scope: "billing", resource: CALL })]);
    const { effects } = await call(RulesService.preview, { change: deleting("default"), resources: [CALL] }, token);
    await call(RulesService.delete, { id: "default" }, token);
    for (const account of ["", "admin", "ann", "bob"]) {
      const { code } = await call(RulesService.explain, { account, resource: CALL, key: "" }, token);
      const concerned = effects.some(({ nobody, accounts }) => (account === "" ? nobody : accounts.includes(account)));
      t.equal(code, concerned ? 401 : 200, account || "nobody");
    }
  });

  await withRules(opened, token, [rule("default")]);
  const refused: [what: string, request: Partial<PreviewRequest>, code: Code, message: RegExp][] = [
    ["no change", { change: undefined }, Code.INVALID_ARGUMENT, /^change: is missing/],
    ["a rule that does not exist", { change: deleting("x") }, Code.NOT_FOUND, /^no rule with the ID x$/],
    ["an ID that exists already", { change: creating("default") }, Code.ALREADY_EXISTS, /ID default exists already$/],
    ["a bad rule", { change: creating("x", { scope: "" }) }, Code.INVALID_ARGUMENT, /^create\.scope: /],
    ["a pattern", { resources: [CALL, "*:*:*"] }, Code.INVALID_ARGUMENT, /^resources\[1\]: must be without wildcards/],
    ["no resource", { resources: ["helloworld"] }, Code.INVALID_ARGUMENT, /^resources\[0\]: /],
    ["too many", { resources: Array(10_001).fill(CALL) }, Code.INVALID_ARGUMENT, /^resources: must be at most 10000$/],
  ];
  for (const [what, fields, code, message] of refused) {
    await t.test(`refuses ${what}`, (t) =>
      t.rejects(call(RulesService.preview, { change: deleting("default"), resources: [], ...fields }, token), {
        code,
        message,
      }),
    );
  }

  await t.test("only administrators may preview", async (t) => {
    const request = { change: deleting("default"), resources: [] };
    await t.rejects(call(RulesService.preview, request, await login("ann")), { code: Code.PERMISSION_DENIED });
  });
});

/** A signal that is never aborted. */
const FOREVER = new AbortController().signal;

t.test("of many accounts, the first 100 are listed and the others are counted", async (t) => {
  const accounts = Array.from({ length: 250 }, (_, index) => ({ name: `a${1000 + index}`, scopes: ["billing"] }));
  const removed = rule("billing", { scope: "billing" });
  const [effect] = await previewOf({
    ...{ rules: [removed], removed: [removed], added: [] },
    ...{ resources: [CALL], accounts, signal: FOREVER },
  });
  t.match(effect, { before: 200, after: 401, moreAccounts: 150, everyAccount: false });
  t.same(
    effect?.accounts,
    accounts.slice(0, 100).map(({ name }) => name),
  );
});

t.test("a large preview yields to the event loop, and ends when its client is gone", async (t) => {
  const scopes = Array.from({ length: 100 }, (_, index) => `scope${index}`);
  const rules = scopes.map((scope) => rule(scope, { scope }));
  const accounts = scopes.map((scope) => ({ name: scope, scopes: [scope] }));
  const resources = Array.from({ length: 1_000 }, (_, index) => `service:big:Big.E${index}`);
  const added = rule("closed", { access: Access.DENIED });
  const gone = new AbortController();
  const response = previewOf({ rules, removed: [], added: [added], resources, accounts, signal: gone.signal });
  setImmediate(() => gone.abort(new Error("gone")));
  await t.rejects(response, new Error("gone"));
});
