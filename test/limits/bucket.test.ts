// However guards ask, use, return and keep tokens, no more is used than burst + rate × t: the lemma
// of the bucket in docs/limits.md. A second bucket, the meter, counts what is used.
import t from "tap";
import { Bucket, LOAN_MS } from "../../services/auth/limits/bucket.js";
import { Slots } from "../../services/auth/limits/slots.js";
import { FULL } from "../support/full.js";
import { fc } from "../support/properties.js";

/** A guard that uses what it was lent as late as it may, and as early. */
class Guard {
  tokens = 0;
  end = 0;

  constructor(readonly name: string) {}

  /** Tokens whose loan has ended are gone. */
  at(now: number): this {
    if (now >= this.end) this.tokens = 0;
    return this;
  }
}

const GUARDS = 3;

type Step =
  | { readonly kind: "wait"; readonly ms: number }
  | {
      readonly kind: "ask";
      readonly guard: number;
      readonly waiting: number;
      readonly soon: number;
      readonly late: number;
    }
  | { readonly kind: "return"; readonly guard: number; readonly late: number }
  | { readonly kind: "use"; readonly guard: number; readonly count: number }
  | { readonly kind: "lose"; readonly guard: number };

const guard = fc.nat(GUARDS - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("wait" as const), ms: fc.oneof(fc.nat(30), fc.nat(1_200)) }),
  fc.record({
    kind: fc.constant("ask" as const),
    guard,
    waiting: fc.nat(30),
    soon: fc.nat(30),
    late: fc.oneof(fc.constant(0), fc.nat(1_100)),
  }),
  fc.record({ kind: fc.constant("return" as const), guard, late: fc.nat(1_100) }),
  fc.record({ kind: fc.constant("use" as const), guard, count: fc.nat(40) }),
  fc.record({ kind: fc.constant("lose" as const), guard }),
);

t.test("never more than burst + rate × t is used", async () => {
  const terms = fc.record({ burst: fc.integer({ min: 1, max: 40 }), perSecond: fc.integer({ min: 1, max: 200 }) });
  fc.assert(
    fc.property(terms, fc.array(step, { maxLength: 80 }), ({ burst, perSecond }, steps) => {
      const rate = perSecond / 1_000;
      const bucket = new Bucket({ rate, burst }, burst, 0);
      const guards = Array.from({ length: GUARDS }, (_, index) => new Guard(`g${index}`));
      let now = 0;
      let meter = burst;
      for (const one of steps) {
        if (one.kind === "wait") {
          now += one.ms;
          meter = Math.min(burst, meter + one.ms * rate);
          continue;
        }
        // A return that was sent while the loan ran may arrive after it.
        const own = guards[one.guard]!.at(one.kind === "return" ? now - one.late : now);
        if (one.kind === "use") {
          const used = Math.min(one.count, own.tokens);
          own.tokens -= used;
          meter -= used;
          if (meter < -1e-6) throw new Error(`at ${now} ms ${-meter} more was used than may be`);
        } else if (one.kind === "return") {
          const asked = { guard: own.name, kept: 0, returned: own.tokens, waiting: 0, soon: 0 };
          own.tokens = 0;
          bucket.lend(asked, now);
        } else if (one.kind === "lose") {
          bucket.lend({ guard: own.name, kept: own.tokens, returned: 0, waiting: 5, soon: 5 }, now);
        } else {
          // The request was sent before now, and the loan counts from then.
          const sent = Math.max(0, now - one.late);
          const { amount } = bucket.lend({ ...one, guard: own.name, kept: own.tokens, returned: 0 }, now);
          own.end = sent + LOAN_MS;
          if (now < own.end) own.tokens += amount;
          else own.tokens = 0;
        }
      }
    }),
    { numRuns: FULL ? 30_000 : 300 },
  );
});

t.test("a burst after silence is lent whole, to one guard or to several", async (t) => {
  const one = new Bucket({ rate: 0.1, burst: 100 }, 100, 0);
  t.equal(one.lend({ guard: "a", kept: 0, returned: 0, waiting: 100, soon: 0 }, 5).amount, 100);
  const several = new Bucket({ rate: 0.1, burst: 100 }, 100, 0);
  const amounts = ["a", "b", "c", "d"].map(
    (name) => several.lend({ guard: name, kept: 0, returned: 0, waiting: 25, soon: 0 }, 5).amount,
  );
  t.same(amounts, [25, 25, 25, 25]);
});

t.test("a guard is told when to ask again if fewer tokens or slots are lent than calls wait", async (t) => {
  for (const { asked, isTold } of [
    { asked: { waiting: 3, soon: 0 }, isTold: false },
    { asked: { waiting: 4, soon: 0 }, isTold: true },
    { asked: { waiting: 1, soon: 9 }, isTold: false },
    { asked: { waiting: 0, soon: 0 }, isTold: false },
  ]) {
    const request = { guard: "a", kept: 0, returned: 0, ...asked };
    const title = JSON.stringify(asked);
    t.equal(new Bucket({ rate: 0.1, burst: 3 }, 3, 0).lend(request, 0).retry > 0, isTold, `tokens: ${title}`);
    t.equal(new Slots(3).lend(request, 0).retry > 0, isTold, `slots: ${title}`);
  }
});

t.test("guards that were refused are served in turn, so that none is starved", async (t) => {
  const bucket = new Bucket({ rate: 1 / 60_000, burst: 1 }, 0, 0);
  const due = new Map(["a", "b", "c"].map((name) => [name, 0]));
  const served: string[] = [];
  for (let now = 0; served.length < 9; now++) {
    for (const [name, at] of due) {
      if (at > now) continue;
      const { amount, retry } = bucket.lend({ guard: name, kept: 0, returned: 0, waiting: 1, soon: 0 }, now);
      if (amount > 0) {
        served.push(name);
        bucket.lend({ guard: name, kept: 0, returned: 0, waiting: 0, soon: 0 }, now);
      }
      due.set(name, now + Math.max(1, retry));
    }
  }
  t.same(served, ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
});

t.test("a change of the limit keeps what was used, in proportion", async (t) => {
  const bucket = new Bucket({ rate: 0.01, burst: 100 }, 100, 0);
  bucket.lend({ guard: "a", kept: 0, returned: 0, waiting: 40, soon: 0 }, 0);
  bucket.lend({ guard: "a", kept: 0, returned: 0, waiting: 0, soon: 0 }, 0);
  bucket.change({ rate: 0.02, burst: 200 }, 0);
  t.equal(bucket.left(0), 120);
  bucket.change({ rate: 0.001, burst: 10 }, 0);
  t.equal(bucket.left(0), 6);
});

t.test("a return adds at most what is still counted as lent", async (t) => {
  const bucket = new Bucket({ rate: 0.1, burst: 10 }, 10, 0);
  bucket.lend({ guard: "a", kept: 0, returned: 0, waiting: 10, soon: 0 }, 0);
  // The loan has ended, the bucket is full again, and another guard uses it up.
  bucket.lend({ guard: "b", kept: 0, returned: 0, waiting: 10, soon: 0 }, 1_200);
  bucket.lend({ guard: "b", kept: 0, returned: 0, waiting: 0, soon: 0 }, 1_200);
  bucket.lend({ guard: "a", kept: 0, returned: 10, waiting: 0, soon: 0 }, 1_200);
  t.equal(bucket.left(1_200), 0);
});
