// A preview for any number of resources: asked in portions, and summed up.
import t from "tap";
import { previewAll, sumsOf } from "../../src/api/preview.js";
import type { Effect } from "../../src/api/types.js";

const effect = (fields: Partial<Effect>): Effect => ({
  ...{ before: 200, after: 403, resources: [], nobody: false, everyAccount: false, accounts: [], moreAccounts: 0 },
  ...fields,
});
const named = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `${from + at}`);

t.test("effects of portions on the same callers are one", async (t) => {
  const asked: number[] = [];
  const resources = named(25_000);
  const effects = await previewAll(async (some) => {
    asked.push(some.length);
    return [
      effect({ resources: some.slice(0, 2), nobody: true }),
      effect({ resources: some.slice(2), accounts: ["a"] }),
    ];
  }, resources);
  t.same(asked, [10_000, 10_000, 5_000]);
  t.same(
    effects.map(({ accounts, resources }) => [accounts, resources.length]),
    [
      [[], 6],
      [["a"], 24_994],
    ],
  );
  t.same(new Set(effects.flatMap((one) => one.resources)), new Set(resources), "none is lost, none is twice");
});

t.test("without resources the change is still checked", async (t) => {
  let asked = 0;
  await previewAll(async () => {
    asked += 1;
    return [];
  }, []);
  t.equal(asked, 1);
});

t.test("accounts and endpoints are counted once, by whether they lose or gain", async (t) => {
  t.same(
    sumsOf([
      effect({ accounts: ["a", "b"], resources: ["x", "y"] }),
      effect({ accounts: ["b", "c"], resources: ["y"], after: 401 }),
      effect({ before: 401, after: 200, everyAccount: true, nobody: true, resources: ["z"] }),
      effect({ before: 401, after: 403, accounts: ["a"], resources: ["z"] }),
    ]).map(({ change, accounts, endpoints, nobody, everyAccount }) => [
      change,
      accounts,
      endpoints,
      nobody,
      everyAccount,
    ]),
    [
      ["lose", 3, 2, false, false],
      ["gain", 0, 1, true, true],
      ["refused otherwise", 1, 1, false, false],
    ],
  );
});

t.test("accounts that are not named are counted, and the sum says when there may be more", async (t) => {
  const many = effect({ accounts: named(100), moreAccounts: 150 });
  t.match(sumsOf([many]), [{ accounts: 250, atLeast: false }]);
  t.match(sumsOf([many, effect({ accounts: named(200, 50) })]), [{ accounts: 250, atLeast: true }]);
});
