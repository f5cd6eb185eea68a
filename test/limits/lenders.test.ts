// Rendezvous hashing: subjects are spread evenly, and a change of the lenders moves only subjects
// of the lender that joins or leaves.
import { randomUUID } from "node:crypto";
import t from "tap";
import { budgetKey, lenderOf } from "../../src/limits/lenders.js";

const SUBJECTS = Array.from({ length: 20_000 }, (_, index) => {
  return budgetKey("default", "ci", `192.0.${index >> 8}.${index & 255}`);
});

function lendersOf(ids: readonly string[]): string[] {
  return SUBJECTS.map((subject) => lenderOf(subject, ids));
}

t.test("without a list, the only authority lends", async (t) => t.equal(lenderOf("x", []), ""));

t.test("the order of the list does not matter", async (t) => {
  const ids = Array.from({ length: 5 }, () => randomUUID());
  const reversed = lendersOf([...ids].reverse());
  t.ok(lendersOf(ids).every((lender, index) => lender === reversed[index]));
});

for (const count of [2, 3, 5, 8]) {
  t.test(`${count} lenders`, async (t) => {
    const ids = Array.from({ length: count }, () => randomUUID());
    const before = lendersOf(ids);
    const even = SUBJECTS.length / count;
    for (const id of ids) {
      const own = before.filter((lender) => lender === id).length;
      // At least five standard deviations of a random spread.
      t.ok(Math.abs(own - even) < even * 0.1, `${own} of ${SUBJECTS.length} subjects`);
    }
    const [gone, ...left] = ids;
    const after = lendersOf(left);
    const moved = before.filter((lender, index) => lender !== after[index]);
    t.ok(moved.length > 0 && moved.every((lender) => lender === gone), "only the subjects of who leaves move");
    const joined = [...ids, randomUUID()];
    const gained = lendersOf(joined).filter((lender, index) => lender !== before[index]);
    t.ok(gained.length > 0 && gained.every((lender) => lender === joined.at(-1)), "only to who joins");
  });
}
