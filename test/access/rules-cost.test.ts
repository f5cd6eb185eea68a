// The time of a decision does not grow with the rules that do not match, even if all of them belong
// to one service.
import t from "tap";
import { Access, RuleSet } from "../../src/access/decide/rules.js";

const resource = { type: "service", name: "big", endpoint: "big.e7" };
const scopes = ["s1", "staff", "admin"];

function withRules(count: number): RuleSet {
  const rules = Array.from({ length: count }, (_, index) => ({
    id: `r${index}`,
    scope: `s${index % 100}`,
    access: index % 3 === 0 ? Access.DENIED : Access.GRANTED,
    resource: `service:big:Big.E${index}${index % 10 === 0 ? "*" : ""}`,
    priority: index % 5,
    disabled: false,
  }));
  return RuleSet.compile([
    ...rules,
    { id: "all", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 9, disabled: false },
  ]);
}

/** Rules that all match, as an administrator may write them. */
function matching(count: number): RuleSet {
  const rules = Array.from({ length: count }, (_, index) => {
    const fields = { scope: "*", access: Access.DENIED, resource: "*:*:*", priority: index % 5, disabled: false };
    return { id: `r${index}`, ...fields };
  });
  return RuleSet.compile(rules);
}

/** Nanoseconds per decision, or per call of another function: the best of several runs. */
function cost(set: RuleSet, decide: () => unknown = () => set.decide(resource, scopes)): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round++) {
    const start = performance.now();
    for (let index = 0; index < 10_000; index++) decide();
    best = Math.min(best, (performance.now() - start) * 100);
  }
  return best;
}

t.test("a decision with 20,000 rules takes no longer than with ten", async (t) => {
  const few = cost(withRules(10));
  const many = cost(withRules(20_000));
  // A scan would take a thousand times as long. The bound is loose because other tests run at the
  // same time.
  t.ok(many < few * 20, `${few.toFixed(0)} ns and ${many.toFixed(0)} ns`);
});

t.test("the rule that refuses a call is found as fast among 20,000 that match as among ten", async (t) => {
  const costOf = (set: RuleSet) => cost(set, () => set.decisive(resource, scopes));
  const few = costOf(matching(10));
  const many = costOf(matching(20_000));
  t.ok(many < few * 20, `${few.toFixed(0)} ns and ${many.toFixed(0)} ns`);
});
