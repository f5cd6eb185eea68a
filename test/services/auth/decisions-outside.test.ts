// For any rules, and any changes that an administrator of some resources tries, by single calls or
// by a file: no decision on a resource outside his patterns changes, and none that a rule of the
// reserved priority made.
import assert from "node:assert/strict";
import t from "tap";
import { explainFor } from "../../../src/access/decide/agents.js";
import { Access, type Rule, RuleSet } from "../../../src/access/decide/rules.js";
import { parsePattern } from "../../../src/contract/resource.js";
import { Code, StatusError } from "../../../src/errors.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { ConfigurationsService } from "../../../src/gen/portico/auth/v1/configurations.js";
import { RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { FULL } from "../../support/full.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { fc } from "../../support/properties.js";
import { open, PASSWORD } from "./open.js";

// Few letters and many wildcards, so that patterns often lie within others, or nearly.
const WORDS = ["b", "bc", "bcb", "c", "cb"];
const pattern = fc.constantFrom("*", "b", "b*", "bc", "BC*", "bcb", "c", "c*", "cb");
const name = fc.constantFrom("b*", "bc", "bc*", "c", "c*", "cb");
const type = fc.constantFrom("service", "service", "service", "SERVICE", "serv*", "*", "mcp");
const given = fc.tuple(name, pattern).map(([name, endpoint]) => `service:${name}:${endpoint}`);
const resource = fc.oneof(
  given,
  fc.tuple(type, pattern, pattern).map((all) => all.join(":")),
);
const priority = fc.constantFrom(-1, 0, 0, 1, 1, 998, 999, 999, 1000, 1001, 2 ** 31 - 1);
const rule = fc.record({
  id: fc.constantFrom("r1", "r2", "r3", "r4", "r5", "r6"),
  scope: fc.constantFrom("<public>", "*", "x", "y", "agent:z", "admin"),
  access: fc.constantFrom(Access.GRANTED, Access.DENIED),
  resource,
  priority,
  disabled: fc.boolean(),
});
const rules = (max: number) => fc.uniqueArray(rule, { selector: ({ id }) => id, maxLength: max });
const change = fc.oneof(
  rule.map((value) => ({ what: "create" as const, value: { ...value, id: `n${value.id}` } })),
  rule.map((value) => ({ what: "set" as const, value })),
  rule.map((value) => ({ what: "set" as const, value: { ...value, id: `n${value.id}` } })),
  rule.map((value) => ({ what: "delete" as const, value })),
  fc
    .tuple(fc.oneof({ arbitrary: rules(1), weight: 3 }, rules(3)), fc.boolean())
    .map(([value, prune]) => ({ what: "apply" as const, value, prune })),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const CALLERS: readonly (readonly string[] | undefined)[] = [
  undefined,
  [],
  ["x"],
  ["x", "y"],
  ["y", "agent:z"],
  ["admin"],
];
const RESOURCES = ["service", "mcp"].flatMap((type) =>
  WORDS.flatMap((name) => WORDS.map((endpoint) => `${type}:${name}:${endpoint}`)),
);

/** Whether a pattern matches a resource, by a regular expression. */
function covers(pattern: string, resource: string): boolean {
  return new RegExp(`^${pattern.toLowerCase().replaceAll("*", "[^:]*")}$`).test(resource);
}

/** What must be the same before and after: all decisions that are not the administrator's. */
function fixedDecisions(rules: readonly Rule[], patterns: readonly string[]): Map<string, string> {
  const policy = RuleSet.compile(rules);
  const decisions = new Map<string, string>();
  for (const resource of RESOURCES) {
    const isHis = patterns.some((pattern) => covers(pattern, resource));
    for (const scopes of CALLERS) {
      const { decision, decidedBy } = explainFor(policy, parsePattern(resource), scopes && { scopes });
      if (!isHis) decisions.set(`${scopes} at ${resource}`, decision);
      // Whether it is 401 or 403 may depend on rules that do not decide.
      else if ((decidedBy?.priority ?? 0) >= 1000)
        decisions.set(`${scopes} at ${resource}`, `${decision === "granted"}`);
    }
  }
  return decisions;
}

const none = { limits: undefined, accounts: undefined, services: undefined, issuers: undefined, trusts: undefined };

t.test("decisions outside, and decisions by reserved rules, stay as they are", async (t) => {
  const { call, login } = await open(t, { store: openMemoryStore() });
  const admin = await login();
  await call(AccountsService.create, { name: "dora", password: PASSWORD, scopes: [] }, admin);
  const dora = await login("dora");
  const decisions = async (patterns: readonly string[]) =>
    fixedDecisions((await call(RulesService.list, { pageSize: 0, pageToken: "" }, admin)).rules, patterns);
  const counts = { made: 0, denied: 0, decisions: 0 };
  const replace = (rules: Rule[]) =>
    call(ConfigurationsService.apply, { configuration: { ...none, rules: { rules } }, prune: true, etag: "" }, admin);
  const attempt = (one: Change): Promise<unknown> => {
    const { what, value } = one;
    if (what === "apply") {
      const configuration = { ...none, rules: { rules: value } };
      return call(ConfigurationsService.apply, { configuration, prune: one.prune, etag: "" }, dora);
    }
    if (what === "delete") return call(RulesService.delete, { id: value.id }, dora);
    if (what === "create") return call(RulesService.create, { rule: value }, dora);
    return call(RulesService.set, { rule: value, expected: undefined }, dora);
  };
  const property = fc.asyncProperty(
    rules(6),
    fc.uniqueArray(given, { minLength: 1, maxLength: 2 }),
    fc.array(change, { minLength: 6, maxLength: 12 }),
    async (base, patterns, changes) => {
      await replace(base);
      const scopes = patterns.map((pattern) => `admin:on:${pattern}`);
      await call(AccountsService.setScopes, { name: "dora", scopes, expected: undefined }, admin);
      const before = await decisions(patterns);
      counts.decisions += before.size;
      for (const one of changes) {
        try {
          await attempt(one);
          counts.made++;
        } catch (error) {
          const { code } = StatusError.from(error);
          assert.ok([Code.PERMISSION_DENIED, Code.NOT_FOUND, Code.ALREADY_EXISTS].includes(code), `${error}`);
          if (code === Code.PERMISSION_DENIED) counts.denied++;
        }
        assert.deepEqual(await decisions(patterns), before, JSON.stringify(one));
      }
    },
  );
  await fc.assert(property, { numRuns: FULL ? 2_000 : 250 });
  // Both happen often, so that it is no empty statement.
  t.ok(counts.made > 100 && counts.denied > 100 && counts.decisions > 10_000, JSON.stringify(counts));
});
