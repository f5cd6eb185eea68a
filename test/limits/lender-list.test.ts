// When an authority joins and leaves the list of lenders, and removes those that are gone. The
// journal is a fake one, whose changes take effect at once.
import { setImmediate as turn } from "node:timers/promises";
import t, { type Test } from "tap";
import { LenderList } from "../../services/auth/limits/lender-list.js";
import type { Journal, StateListener } from "../../services/auth/log/changelog/journal.js";
import type { State } from "../../services/auth/log/state/state.js";
import { silent } from "../services/auth/open.js";

interface Options {
  readonly id?: string;
  readonly limits?: number;
  readonly ids?: readonly string[];
  readonly others?: readonly string[] | undefined;
}

class Fake {
  readonly #followers = new Set<StateListener>();
  readonly #state: { limits: { size: number; lenders: { ids: readonly string[] } } };
  /** The lists that were written. */
  readonly written: (readonly string[])[] = [];
  others: ReadonlySet<string> | undefined;
  /** How many of the next commits fail. */
  failing = 0;
  readonly list: LenderList;
  /** Looks for lenders that are gone, as the timer does. */
  #look: () => void = () => undefined;

  constructor(t: Test, { id = "a", limits = 1, ids = [], ...rest }: Options) {
    this.others = "others" in rest ? rest.others && new Set(rest.others) : new Set();
    this.#state = { limits: { size: limits, lenders: { ids } } };
    const journal = {
      state: this.#state as unknown as State,
      commit: async (_by: unknown, decide: (state: State) => { value: { ids: string[] } }[]) => {
        if (this.failing-- > 0) throw new Error("the store fails");
        for (const { value } of decide(this.#state as unknown as State)) this.change({ ids: value.ids }, true);
      },
      follow: (follower: StateListener) => {
        this.#followers.add(follower);
        return () => this.#followers.delete(follower);
      },
    } as unknown as Pick<Journal, "state" | "commit" | "follow">;
    const timer = t.capture(globalThis, "setInterval", (look: () => void) => {
      this.#look = look;
      return { unref: () => undefined };
    });
    this.list = new LenderList({ journal, id, others: () => this.others, intervalMs: 1_000, log: silent });
    timer.restore();
  }

  get ids(): readonly string[] {
    return this.#state.limits.lenders.ids;
  }

  /** Changes the state, as this authority or another one does. */
  change({ ids, limits }: { ids?: readonly string[]; limits?: number }, isOwn = false): void {
    if (ids !== undefined) this.#state.limits.lenders = { ids };
    if (ids !== undefined && isOwn) this.written.push(ids);
    this.#state.limits.size = limits ?? this.#state.limits.size;
    for (const follower of this.#followers) follower.changed(1, [], []);
  }

  async looks(times: number): Promise<void> {
    for (let count = 0; count < times; count++) {
      this.#look();
      await turn();
    }
  }
}

/** What an authority does at its start, and at the next looks. */
const CASES: readonly (Options & {
  readonly name: string;
  readonly looks: number;
  readonly left: readonly string[];
})[] = [
  { name: "joins when there is a limit", looks: 0, left: ["a"] },
  { name: "does not join without a limit", limits: 0, looks: 3, left: [] },
  { name: "does not join without a lease record of its own", others: undefined, looks: 3, left: [] },
  { name: "joins beside others", ids: ["b"], others: ["b"], looks: 3, left: ["b", "a"] },
  { name: "does not remove others at the first look", ids: ["a", "b"], looks: 1, left: ["a", "b"] },
  { name: "removes at the second look who is gone", ids: ["a", "b", "c"], others: ["c"], looks: 2, left: ["a", "c"] },
  { name: "removes nobody without a lease record of its own", ids: ["b"], others: undefined, looks: 3, left: ["b"] },
  { name: "the only authority has an empty list", id: "", ids: ["b", "c"], looks: 0, left: [] },
  { name: "the only authority does not join", id: "", ids: [], looks: 3, left: [] },
];

for (const { name, looks, left, ...options } of CASES) {
  t.test(name, async (t) => {
    const fake = new Fake(t, options);
    await turn();
    await fake.looks(looks);
    t.same(fake.ids, left);
    await fake.list.close();
  });
}

t.test("joins at once when the first limit is created", async (t) => {
  const fake = new Fake(t, { limits: 0 });
  fake.change({ limits: 1 });
  await turn();
  t.same(fake.written, [["a"]]);
});

t.test("joins again when another authority has removed it", async (t) => {
  const fake = new Fake(t, { ids: ["a", "b"], others: ["b"] });
  fake.change({ ids: ["b"] });
  await turn();
  t.same(fake.ids, ["b", "a"]);
});

t.test("a lender that was missing once, and is there again, stays", async (t) => {
  const fake = new Fake(t, { ids: ["a", "b"] });
  await fake.looks(1);
  fake.others = new Set(["b"]);
  await fake.looks(1);
  fake.others = new Set();
  await fake.looks(1);
  t.same(fake.written, []);
  await fake.looks(1);
  t.same(fake.written, [["a"]]);
});

t.test("tries again after the store has failed", async (t) => {
  const fake = new Fake(t, { limits: 0 });
  fake.failing = 2;
  fake.change({ limits: 1 });
  await turn();
  await fake.looks(1);
  t.same(fake.ids, []);
  await fake.looks(1);
  t.same(fake.ids, ["a"]);
});

for (const end of ["leave", "close"] as const) {
  t.test(`${end} takes it off the list once, and it does not join again`, async (t) => {
    const fake = new Fake(t, { ids: ["a", "b"], others: ["b"] });
    fake.list[end]();
    await turn();
    t.same(fake.written, [["b"]]);
    fake.change({ ids: ["b", "c"] });
    await turn();
    await fake.list.close();
    t.same(fake.written, [["b"]]);
  });
}

t.test("the only authority leaves no list", async (t) => {
  const fake = new Fake(t, { id: "" });
  await fake.list.close();
  t.same(fake.written, []);
});
