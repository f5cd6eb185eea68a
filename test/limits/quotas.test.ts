// What the lender of a quota lends to a guard.
import t from "tap";
import { Quotas } from "../../services/auth/limits/quotas.js";
import { openMemoryStore } from "../support/memory-store.js";

const NOON = Date.UTC(2026, 10, 28, 12);

t.test("a guard never has more than a hundredth of what is left", async (t) => {
  const terms = { calls: 10_000, period: "day" } as const;
  const quotas = new Quotas({ store: openMemoryStore(), terms, namespace: "default", limit: "daily" });
  const lend = (kept: number, more: { waiting?: number; soon?: number; returned?: number } = {}) =>
    quotas.lend("", { guard: "a", kept, returned: 0, waiting: 0, soon: 0, ...more }, NOON);
  const cases = [
    { name: "the first loan", kept: 0, soon: 5_000, amount: 100, left: 9_900 },
    { name: "none is used", kept: 100, soon: 5_000, amount: 0, left: 9_900 },
    { name: "some are used", kept: 60, soon: 5_000, amount: 39, left: 9_861 },
    { name: "all are used", kept: 0, waiting: 5, amount: 5, left: 9_856 },
    { name: "some are returned", kept: 3, returned: 2, amount: 0, left: 9_858 },
  ];
  for (const { name, kept, amount, left, ...more } of cases) {
    t.match(await lend(kept, more), { amount, left }, name);
  }
});
