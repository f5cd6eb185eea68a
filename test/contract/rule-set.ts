/**
 * The guarantees of `Rules.Set` with several authorities on one store: when it is acknowledged, no
 * guard of any authority grants by the rule as it was before. Guards are scripted; the tests run on
 * each engine of a store.
 */
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import { Access, type Rule, RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { again } from "../services/auth/again.js";
import { until } from "../support/until.js";
import { GRANTING, type Member, Members, SHORT } from "./settling.js";

/** Forms of the rule that take access away, each set at another authority. */
const WITHOUT_ACCESS: readonly (readonly [change: string, form: Partial<Rule>])[] = [
  ["its switching off", { disabled: true }],
  ["its change to a denial", { access: Access.DENIED, priority: 7 }],
];

const set = (at: Member, fields: Partial<Rule>, token: string, expected?: Rule) =>
  at.call(RulesService.set, { rule: { ...GRANTING, ...fields }, expected }, token);

/** @param openStore as for `settlingContract` */
export function ruleSetContract(t: Test, openStore: (t: Test) => Promise<() => Promise<KeyValueStore>>): void {
  t.test("a rule that is set takes access away at all authorities once it is acknowledged", async (t) => {
    const members = new Members(t, await openStore(t));
    const all = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    for (const member of all) for (let guard = 0; guard < 2; guard++) member.guard();
    await members.grant(all[0]!);
    for (const [index, [change, form]] of WITHOUT_ACCESS.entries()) {
      const member = all[index]!;
      // The last guard applies nothing: the change waits until its lease has ended.
      const slow = members.guards.at(-1)!;
      slow.stuck = true;
      await again(() => set(member, form, members.token));
      members.checkNone(change);
      slow.goOn();
      await again(() => set(member, {}, members.token));
      await members.granted(member);
    }
  });

  t.test("of authorities that set one rule at once, `expected` lets one change it", async (t) => {
    const members = new Members(t, await openStore(t));
    const all = [await members.add({ leaseMs: SHORT }), await members.add({ leaseMs: SHORT })];
    for (const member of all) member.guard();
    await members.grant(all[0]!);
    let before: Rule = GRANTING;
    for (let round = 1; round <= 2; round++) {
      const forms = all.map((_, index) => ({ ...GRANTING, priority: 10 * round + index }));
      const attempts = all.map((member, index) => set(member, forms[index]!, members.token, before));
      const results = await Promise.allSettled(attempts);
      t.same(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"], `round ${round}`);
      const lost = results.find(({ status }) => status === "rejected");
      t.match(lost, { reason: { code: Code.ABORTED } });
      before = forms[results.findIndex(({ status }) => status === "fulfilled")]!;
      const old = members.guards.filter(
        ({ decides, rules }) => decides && rules.get(before.id)?.priority !== before.priority,
      );
      t.equal(old.length, 0, "each guard that decides has the new form");
      await until(() => members.guards.every(({ decides }) => decides));
    }
    const request = { pageSize: 0, pageToken: "" };
    for (const member of all) {
      const { rules } = await again(() => member.call(RulesService.list, request, members.token));
      t.match(rules, [{ id: before.id, priority: before.priority }], `${member.name} lists it`);
    }
  });
}
