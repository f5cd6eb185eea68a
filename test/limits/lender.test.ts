// A flood of new subjects: what a lender forgets early to make room, and what it then lends.
import t, { type Test } from "tap";
import { Lender } from "../../services/auth/limits/lender.js";
import { Budget } from "../../src/gen/portico/auth/v1/lending.js";
import { type Limit, Per } from "../../src/gen/portico/auth/v1/limits.js";
import { silent } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";
import { limitOf } from "./guards.js";

const MAX_SUBJECTS = 100;
const GUARD = { enrolment: "gateway", guard: "gateway/one" };

/** A lender of limits that were created just now. Returns how to borrow up to 10 tokens. */
function openLender(t: Test, limits: readonly (Partial<Limit> & { id: string })[]) {
  const state = {
    namespaces: new Map([["default", {}]]),
    limits: { of: () => [], lenders: { ids: [], revision: 0n } },
  };
  const lender = new Lender({
    journal: { state, now: 0, follow: () => () => undefined } as never,
    settled: async () => undefined,
    store: openMemoryStore(),
    ...{ id: "", maxCallMs: 90_000, log: silent, now: () => 0, maxSubjects: MAX_SUBJECTS },
  });
  t.teardown(() => lender.close());
  for (const limit of limits) {
    const value = { namespace: "default", limit: { limit: limitOf(limit), revision: 1n } };
    lender.changed(1, [{ change: { $case: "limitSet", value } }] as never);
  }
  return async (limit: string, subject: string, budget = Budget.RATE, returned = 0n): Promise<number> => {
    const need = { namespace: "default", limit, revision: 1n, budget, subject };
    const loan = await lender.lend(GUARD, 0n, {
      ...need,
      ...{ kept: 0n, returned, waiting: 10n, soon: 0n, refused: 0n },
    });
    if (loan.other) throw new Error(`the lender does not lend ${limit}`);
    return Number(loan.amount);
  };
}

t.test("a flood of new addresses evicts no subject of another limit", async (t) => {
  const borrow = openLender(t, [
    { id: "paying", per: Per.ACCOUNT, rate: "1/d", burst: 5n },
    { id: "flooded", per: Per.ADDRESS, rate: "1/d", burst: 5n },
  ]);
  t.equal(await borrow("paying", "bob"), 5);
  for (let index = 0; index < 3 * MAX_SUBJECTS; index++) await borrow("flooded", `address ${index}`);
  t.equal(await borrow("paying", "carol"), 5, "had bob been forgotten, carol would start as empty as he was");
  t.equal(await borrow("paying", "bob"), 0);
});

t.test("the subjects of a quota count, too, and none gets more than its quota", async (t) => {
  const borrow = openLender(t, [
    { id: "paying", per: Per.ACCOUNT, rate: "1/d", burst: 5n },
    { id: "flooded", per: Per.ADDRESS, quota: "2/day" },
  ]);
  const flood = (name: string) => {
    const addresses = Array.from({ length: 2 * MAX_SUBJECTS }, (_, index) => `${name} ${index}`);
    return Promise.all(addresses.map((address) => borrow("flooded", address, Budget.QUOTA)));
  };
  t.equal(await borrow("paying", "bob"), 5);
  t.equal(await borrow("flooded", "mallory", Budget.QUOTA), 1);
  await flood("first");
  t.equal(await borrow("flooded", "mallory", Budget.QUOTA, 1n), 1);
  await flood("second");
  t.equal(await borrow("flooded", "mallory", Budget.QUOTA, 1n), 0, "what a forgotten subject gives back stays used");
  t.equal(await borrow("paying", "bob"), 0);
  t.equal(await borrow("paying", "carol"), 5, "had bob been forgotten, carol would start as empty as he was");
});

t.test("a subject that is forgotten early is not granted its burst again", async (t) => {
  const borrow = openLender(t, [{ id: "flooded", per: Per.ADDRESS, rate: "1/d", burst: 5n }]);
  let granted = 0;
  for (let time = 0; time < 3; time++) {
    granted += await borrow("flooded", "mallory");
    for (let index = 0; index < 2 * MAX_SUBJECTS; index++) await borrow("flooded", `address ${time} ${index}`);
  }
  t.equal(granted, 5);
});
