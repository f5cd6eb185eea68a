// For any rules, added and deleted in any order, the compiled rules decide and explain like a scan
// of all rules.
import assert from "node:assert/strict";
import t from "tap";
import { Access, type Rule, RuleSet } from "../../src/access/decide/rules.js";
import { fc } from "../support/properties.js";
import { scan } from "./scan.js";

// Few letters and many wildcards, so that patterns often match resources.
const word = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 3 });
const pattern = fc.oneof(
  word,
  { arbitrary: fc.constant("*"), weight: 4 },
  word.map((text) => `${text}*`),
  word.map((text) => text.toUpperCase()),
);
const joined = (segment: fc.Arbitrary<string>) => fc.tuple(segment, segment, segment).map((all) => all.join(":"));
const scope = fc.constantFrom("<public>", "*", "x", "y", "z");
const rule = fc.record({
  id: fc.string({ unit: fc.constantFrom("r", "s", "0", "1", "."), minLength: 1, maxLength: 6 }),
  scope,
  access: fc.constantFrom(Access.GRANTED, Access.DENIED),
  disabled: fc.constant(false),
  resource: joined(pattern),
  priority: fc.oneof(fc.constantFrom(-1, 0, 1), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
});
const rules = fc.uniqueArray(rule, { selector: ({ id }) => id, maxLength: 40 });
const caller = fc.option(fc.array(fc.constantFrom("x", "y", "z", "*", "<public>"), { maxLength: 4 }), {
  nil: undefined,
});
const resource = joined(word);

function sameAsScan(set: RuleSet, rules: readonly Rule[], resource: string, scopes: string[] | undefined): void {
  const [type = "", name = "", endpoint = ""] = resource.split(":");
  const segments = { type, name, endpoint };
  const { decision, matched } = scan(rules, resource, scopes);
  const explanation = set.explain(segments, scopes);
  assert.equal(set.decide(segments, scopes), decision);
  assert.deepEqual(explanation, { decision, decidedBy: matched[0], matched });
  assert.equal(set.decisive(segments, scopes), matched[0]);
}

t.test("compiled at once", async (t) => {
  fc.assert(
    fc.property(rules, resource, caller, (rules, resource, scopes) => {
      sameAsScan(RuleSet.compile(rules), rules, resource, scopes);
    }),
    { numRuns: 2_000 },
  );
  t.pass("no counterexample");
});

t.test("added and deleted one by one, with decisions in between", async (t) => {
  fc.assert(
    fc.property(rules, fc.array(fc.nat()), resource, caller, (rules, deletions, resource, scopes) => {
      const [type = "", name = "", endpoint = ""] = resource.split(":");
      const segments = { type, name, endpoint }; // always the same object, as for an endpoint
      const set = new RuleSet();
      const present: Rule[] = [];
      const agree = (): void => assert.equal(set.decide(segments, scopes), scan(present, resource, scopes).decision);
      for (const rule of rules) {
        set.add(rule);
        present.push(rule);
        agree();
      }
      for (const place of deletions) {
        const [gone] = present.splice(place % (present.length + 1), 1);
        if (gone) assert.equal(set.delete(gone.id), true);
        agree();
      }
      assert.equal(set.size, present.length);
    }),
    { numRuns: 500 },
  );
  t.pass("no counterexample");
});
