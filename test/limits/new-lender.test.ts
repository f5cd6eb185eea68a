// When a lender lends after its start, and after it was appointed. The journal is a fake one.
import t from "tap";
import { COUNTED_MS } from "../../services/auth/limits/bucket.js";
import { Lender } from "../../services/auth/limits/lender.js";
import { Budget, type Loan } from "../../src/gen/portico/auth/v1/lending.js";
import { silent } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";
import { limitOf } from "./guards.js";

const LIMIT = { limit: limitOf({ id: "few", concurrent: 2, rate: "10/s", burst: 50n }), revision: 1n };

interface Asked {
  readonly kept?: number;
  readonly waiting?: number;
  readonly budget?: Budget;
  readonly refused?: number;
}

/** A lender whose change of the list is settled at once, and a clock. */
function openLender(id: string) {
  let now = 0;
  const lenders = { ids: id === "" ? [] : [id], revision: 0n };
  const state = { limits: { lenders, of: () => [LIMIT] }, namespaces: new Map([["default", {}]]) };
  const journal = { state, now: 0, follow: () => () => undefined } as unknown as ConstructorParameters<
    typeof Lender
  >[0]["journal"];
  const options = { journal, store: openMemoryStore(), id, maxCallMs: 2_000, log: silent, now: () => now };
  const lender = new Lender({ ...options, settled: async () => undefined });
  const ask = async (
    at: number,
    guard: string,
    { kept = 0, waiting = 0, budget = Budget.CONCURRENT, refused = 0 }: Asked,
  ) => {
    now = at;
    const amounts = { kept: BigInt(kept), waiting: BigInt(waiting), returned: 0n, soon: 0n, refused: BigInt(refused) };
    const need = { namespace: "default", limit: "few", revision: 1n, budget, subject: "", ...amounts };
    const loan: Loan = await lender.lend({ enrolment: undefined, guard }, 0n, need);
    return { amount: Number(loan.amount), other: loan.other };
  };
  return { lender, ask };
}

for (const id of ["", "a"]) {
  const from = COUNTED_MS + 1;
  t.test(`a new lender ("${id}") counts the slots that guards still hold`, async (t) => {
    const { lender, ask } = openLender(id);
    t.teardown(() => lender.close());
    t.same(await ask(1, "second", { waiting: 1 }), { amount: 0, other: true });
    t.same(await ask(from - 100, "first", { kept: 2 }), { amount: 0, other: true });
    t.same(await ask(from + 2, "second", { waiting: 1 }), { amount: 0, other: false });
    t.same(await ask(from + 3, "first", { kept: 1 }), { amount: 0, other: false });
    t.same(await ask(from + 4, "second", { waiting: 1 }), { amount: 1, other: false });
  });

  t.test(`a new lender ("${id}") begins with an empty bucket`, async (t) => {
    const { lender, ask } = openLender(id);
    t.teardown(() => lender.close());
    const asked = { waiting: 50, budget: Budget.RATE };
    t.same(await ask(COUNTED_MS - 1, "first", asked), { amount: 0, other: true });
    t.same(await ask(COUNTED_MS + 1_000, "first", asked), { amount: 10, other: false });
  });

  t.test(`a new lender ("${id}") counts refused calls once, though guards state them until it lends`, async (t) => {
    const { lender, ask } = openLender(id);
    t.teardown(() => lender.close());
    for (const at of [1, 50, 100]) t.same(await ask(at, "first", { refused: 7 }), { amount: 0, other: true });
    t.same(await ask(from + 1, "first", { refused: 7 }), { amount: 0, other: false });
    t.equal(lender.refusedOf("default", "few").refused, 7);
  });
}
