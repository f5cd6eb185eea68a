/**
 * Reads of the store that services share: only a few at once, fair between callers, within the
 * memory of the process.
 */
import t, { type Test } from "tap";
import { ChangeFeeds } from "../../src/kit/change-feeds.js";
import { CollectionStore } from "../../src/kit/collection-store.js";
import { Code } from "../../src/kit/index.js";
import { StoreReads } from "../../src/kit/store-reads.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { openServiceStore } from "../../src/store/open.js";
import { overriding } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

/** The size of an entry, in bytes. */
const PAGE = 200_000;

function callOf(account: string): Parameters<StoreReads["of"]>[0] {
  const identity = { namespace: "default", scopes: [], expires: Number.POSITIVE_INFINITY, resources: [] };
  const { signal } = new AbortController();
  return { caller: { account, ...identity }, namespace: "default", clientAddress: "127.0.0.1", signal };
}

/** A store with `count` entries, and the maximum number of its reads that ran at once. */
async function open(t: Test, { count = 4, limit = 256 * 1024 ** 2 } = {}) {
  const store = await openServiceStore("sqlite:", temporaryFolder(t));
  t.teardown(() => store.close());
  let [running, most] = [0, 0];
  const counted = async <T>(read: Promise<T>): Promise<T> => {
    most = Math.max(most, ++running);
    return read.finally(() => running--);
  };
  const watched = overriding(store, {
    get: (keys) => counted(store.get(keys)),
    range: (range) => counted(store.range(range)),
    count: (from, to) => counted(store.count(from, to)),
  });
  const budget = new MemoryBudget({ limit });
  const reads = new StoreReads(budget);
  const as = (account: string) =>
    new CollectionStore<string>({
      open: async () => watched,
      reads: reads.of(callOf(account)),
      feeds: new ChangeFeeds(reads),
      signal: callOf(account).signal,
      ...{ service: "shop", namespace: "default", collection: "orders" },
      onFailure: (error) => t.fail(error.message),
    });
  for (let key = 0; key < count; key++) await as("ada").set(`${key}`, "x".repeat(PAGE));
  return { as, reads, budget, most: () => most };
}

t.test("at most two reads of a caller run at once, and at most four of all callers", async (t) => {
  const { as, most } = await open(t, { count: 1 });
  const all = (account: string) => Array.from({ length: 100 }, () => as(account).range());
  await Promise.all(all("ada"));
  t.equal(most(), 2);
  await Promise.all(["ada", "bob", "cleo"].flatMap(all));
  t.equal(most(), 4);
});

t.test("ranges, counts and reads of several keys take turns, but a read of one key does not wait", async (t) => {
  const { as, most } = await open(t, { count: 1 });
  const store = as("ada");
  const each = Array.from({ length: 10 }, () => [store.range(), store.count(), store.getMany(["0"])]);
  await Promise.all(each.flat());
  t.equal(most(), 2);
  await Promise.all(Array.from({ length: 10 }, () => store.get("0")));
  t.ok(most() > 2, `${most()} at once`);
});

t.test("one read of a caller does not wait for a hundred reads of another caller", async (t) => {
  const { as } = await open(t, { count: 4 });
  let done = 0;
  const flood = Array.from({ length: 100 }, () =>
    as("ada")
      .range()
      .then(() => done++),
  );
  await as("bob").range();
  t.ok(done < 10, `${done} of 100 were before it`);
  await Promise.all(flood);
});

t.test("the memory of a result is reserved while it is used, and no longer", async (t) => {
  const { as, budget } = await open(t);
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, budget.reserved);
  });
  t.teardown(() => clearInterval(timer));
  const sizes: number[] = [];
  const reading = async (read: Promise<unknown>) => {
    await read;
    sizes.push(budget.reserved);
  };
  await reading(as("ada").range());
  t.ok(sizes[0]! >= 4 * PAGE, `${sizes[0]} bytes are reserved`);
  await until(() => budget.reserved === 0);
  await reading(as("ada").get("0"));
  t.ok(sizes[1]! >= PAGE, `${sizes[1]} bytes are reserved`);
  await until(() => budget.reserved === 0);
});

t.test("a result that does not fit into the memory of the process is refused, and reserves nothing", async (t) => {
  const { as, budget, reads } = await open(t, { limit: 3 * PAGE });
  const refused = {
    code: Code.RESOURCE_EXHAUSTED,
    message: /^the service has no memory left for what this call reads/,
  };
  const store = as("ada");
  await t.rejects(store.range(), refused);
  await t.rejects(store.getMany(["0", "1", "2", "3"]), refused);
  t.equal((await store.range({ limit: 1 })).entries.length, 1, "less at once fits");
  await until(() => budget.reserved === 0);
  const others = budget.openUpstream();
  t.ok(others.tryReserve(280_000));
  await t.rejects(store.get("0"), refused);
  await t.rejects(
    reads.of(callOf("ada")).search(async () => 1),
    refused,
  );
  others.close();
  await until(() => budget.reserved === 0);
  t.equal((await store.get("0"))?.length, PAGE);
});

t.test("four searches of a caller run at once, each with reserved memory", async (t) => {
  const { reads, budget } = await open(t, { count: 0 });
  const ends: (() => void)[] = [];
  const search = (account: string) =>
    reads.of(callOf(account)).search(() => new Promise<void>((end) => ends.push(end)));
  const all = Array.from({ length: 6 }, () => search("ada"));
  all.push(search("bob"));
  await until(() => ends.length === 5);
  t.equal(budget.reserved, 5 * 4 * 1024 ** 2);
  for (let ended = 0; ended < 7; ended++) {
    await until(() => ends.length > 0);
    ends.shift()!();
  }
  await Promise.all(all);
  await until(() => budget.reserved === 0);
});
