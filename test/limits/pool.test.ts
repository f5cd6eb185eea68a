// What a guard may still use of a loan: until its end, by both clocks, counted from the request;
// and nothing of a former lender or of an earlier form of the limit. Lemma 2 of docs/limits.md.
import t from "tap";
import { Budget, type Loan } from "../../src/gen/portico/auth/v1/lending.js";
import { Pool } from "../../src/limits/pool.js";
import type { Moment } from "../../src/moment.js";
import { limitOf } from "./guards.js";

const LIMIT = limitOf({ id: "ci", rate: "100/s", burst: 100n, quota: "1000/day", concurrent: 5 });

/** Milliseconds after the start of the test, by both clocks. */
const at = (ms: number, wall = ms): Moment => ({ monotonic: 1_000 + ms, wall: 5_000 + wall });

function poolOf(budget = Budget.RATE): Pool {
  const named = { namespace: "default", subject: "bob", budget };
  return new Pool(named, { limit: LIMIT, revision: 1n }, "a", at(0).monotonic);
}

function loan(amount: number, more: Partial<Loan> = {}): Loan {
  return { amount: BigInt(amount), lifetimeMs: 1_000n, retryMs: 0n, left: 10n, other: false, ...more };
}

const CASES: readonly (readonly [title: string, arrives: Moment, used: Moment, has: boolean])[] = [
  ["a loan is used at once", at(5), at(5), true],
  ["a loan is used just before its end", at(5), at(999), true],
  ["a loan has ended, counted from its request", at(5), at(1_000), false],
  ["a response that was late gives only the rest of the time", at(900), at(999), true],
  ["a response that comes after the end gives nothing", at(1_000), at(1_000), false],
  ["the machine slept: only the wall clock has counted", at(5), at(10, 1_000), false],
  ["the wall clock was set back to before the request", at(5), at(10, -1), false],
];

for (const [title, arrives, used, has] of CASES) {
  t.test(title, async (t) => {
    const pool = poolOf();
    pool.need(at(0));
    pool.receive(loan(3), at(0), arrives);
    t.equal(pool.has(used), has);
  });
}

t.test("a request states what is kept, and the response renews it", async (t) => {
  const pool = poolOf();
  pool.need(at(0));
  pool.receive(loan(3), at(0), at(1));
  pool.take(at(2).monotonic);
  t.equal(pool.need(at(800)).kept, 2n);
  pool.receive(loan(0), at(800), at(801));
  t.ok(pool.has(at(1_700)));
});

t.test("tokens that are not used go back", async (t) => {
  const pool = poolOf();
  pool.need(at(0));
  pool.receive(loan(3), at(0), at(1));
  t.ok(pool.tend(at(300)));
  t.match(pool.need(at(300)), { kept: 0n, returned: 3n });
  t.notOk(pool.has(at(301)));
});

t.test("nothing of a former lender is used, but loans of a quota, which are on disk", async (t) => {
  for (const [budget, has] of [
    [Budget.RATE, false],
    [Budget.CONCURRENT, false],
    [Budget.QUOTA, true],
  ] as const) {
    const pool = poolOf(budget);
    pool.need(at(0));
    pool.receive(loan(3), at(0), at(1));
    pool.changeLender("b");
    t.equal(pool.has(at(2)), has, Budget[budget]);
  }
});

t.test("nothing of an earlier form of the limit is used, and it goes back", async (t) => {
  const pool = poolOf();
  pool.need(at(0));
  pool.receive(loan(3), at(0), at(1));
  pool.change({ ...LIMIT, rate: "1/s" }, 2n);
  t.notOk(pool.has(at(2)));
  t.match(pool.need(at(2)), { kept: 0n, returned: 3n, revision: 2n });
});

t.test("a slot is taken while its call is open, and kept even if the loan ends", async (t) => {
  const pool = poolOf(Budget.CONCURRENT);
  pool.need(at(0));
  pool.receive(loan(2), at(0), at(1));
  pool.take(at(2).monotonic);
  t.equal(pool.need(at(1_500)).kept, 1n, "the slot that is not taken has ended");
  pool.release(at(1_501).monotonic);
  t.equal(pool.need(at(1_502)).kept, 0n);
});

t.test("no tokens until a time: calls are refused at once until then", async (t) => {
  const pool = poolOf();
  pool.need(at(0));
  t.equal(pool.receive(loan(0, { retryMs: 2_500n }), at(0), at(1)), 2_500);
  t.ok(pool.isEmpty(at(2_500).monotonic));
  t.equal(pool.retryAfter(at(1).monotonic), 3);
  t.notOk(pool.isEmpty(at(2_501).monotonic));
});

t.test("a loan that is too small: its tokens are used, and the other calls are refused", async (t) => {
  const pool = poolOf();
  pool.need(at(0));
  pool.receive(loan(1, { retryMs: 500n }), at(0), at(1));
  t.ok(pool.has(at(2)));
  pool.take(at(2).monotonic);
  t.notOk(pool.has(at(3)));
  t.ok(pool.isEmpty(at(3).monotonic));
});

t.test("refused calls are stated until a lender has counted them", async (t) => {
  const pool = poolOf();
  pool.refuse();
  pool.refuse();
  t.equal(pool.need(at(0)).refused, 2n);
  pool.refuse();
  t.equal(pool.need(at(100)).refused, 3n, "the stream ended without a response");
  pool.refuse();
  pool.reported();
  t.equal(pool.need(at(200)).refused, 1n, "what was refused meanwhile");
  pool.change({ ...LIMIT, rate: "1/s" }, 2n);
  pool.reported();
  t.equal(pool.need(at(300)).refused, 0n, "a changed limit counts anew");
});

t.test("refused calls of a limit that was deleted are not stated for ever", async (t) => {
  const pool = poolOf();
  pool.called(at(0).monotonic);
  pool.refuse();
  t.ok(pool.tend(at(29_000)), "until then a lender may count them");
  t.notOk(pool.tend(at(31_000)));
  t.ok(pool.isForgettable(at(31_000).monotonic));
});
