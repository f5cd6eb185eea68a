// A maximum number of entries that expire. They are counted again when half of the free capacity is
// used, and not all the time while the limit is reached.
import t from "tap";
import { StorageLimit } from "../../services/patterns/storage-limit.js";
import { Code, type Store, testCall } from "../../src/kit/index.js";

/** A clock that a test controls. */
class HandClock {
  time = 0;
  now(): number {
    return this.time;
  }
}

/**
 * A collection that counts how often it is counted. Each count takes a millisecond of the clock.
 */
function counted(collection: Store<number>, clock: HandClock): { store: Store<number>; counts: () => number } {
  let counts = 0;
  const count: Store<number>["count"] = async (prefix) => {
    counts++;
    const number = await collection.count(prefix);
    clock.time++;
    return number;
  };
  return {
    store: new Proxy(collection, { get: (all, name) => (name === "count" ? count : Reflect.get(all, name).bind(all)) }),
    counts: () => counts,
  };
}

/**
 * Creates a limit of 16, and writes entries until it is reached. The clock advances enough between
 * writes that the next count is always due.
 */
async function filled(collection: string) {
  const clock = new HandClock();
  const { store, counts } = counted(testCall().store<number>(collection), clock);
  const limit = new StorageLimit(16, "entries", clock);
  const enter = () => limit.enter("default", store, "");
  for (let entry = 0; entry < 16; entry++) {
    clock.time += 20;
    if (Object.keys(await enter()).length === 0) await store.set(`${entry}`, entry);
  }
  return { clock, store, counts, limit, enter };
}

const FULL = { ifPresent: true };

t.test("one process never has more entries than the maximum, and counts them a few times", async (t) => {
  const { store, counts, enter, clock } = await filled("room");
  t.equal(await store.count(), 16);
  t.equal(counts(), 6, "with 16, 8, 4, 2 and 1 entries of free capacity, and by this test");
  clock.time += 20;
  t.same(await enter(), FULL);
});

t.test("the error names the entries, and says what to do", async (t) => {
  const { limit } = await filled("room-refusal");
  t.match(limit.full(), { code: Code.RESOURCE_EXHAUSTED, message: "There are 16 entries: delete some, or wait until" });
});

t.test("while the limit is reached, counting takes at most a twentieth of the time", async (t) => {
  const { enter, counts, clock } = await filled("room-pause");
  clock.time += 20;
  await enter();
  const before = counts();
  for (let call = 0; call < 100; call++) t.same(await enter(), FULL);
  t.equal(counts(), before, "a hundred writes, and no count");
  clock.time += 19.9;
  await enter();
  t.equal(counts(), before);
  clock.time += 0.1;
  await enter();
  t.equal(counts(), before + 1);
});

t.test("calls that need a count share one", async (t) => {
  const { enter, counts, clock } = await filled("room-together");
  clock.time += 20;
  const before = counts();
  const all = await Promise.all(Array.from({ length: 100 }, enter));
  t.equal(counts(), before + 1);
  t.same(all, Array(100).fill(FULL));
});

t.test("a deleted entry frees capacity at once, for one entry", async (t) => {
  const { store, enter, limit, clock } = await filled("room-deleted");
  clock.time += 20;
  t.same(await enter(), FULL);
  await store.delete("3");
  limit.leave("default", "");
  t.same(await enter(), {});
  t.same(await enter(), FULL);
});

t.test("a count that fails does not mean that the limit is reached", async (t) => {
  let isBroken = true;
  const store = testCall().store<number>("room-broken");
  const count = async () => {
    if (isBroken) throw new Error("broken");
    return 0;
  };
  const limit = new StorageLimit(16, "entries");
  const broken = new Proxy(store, { get: (all, name) => (name === "count" ? count : Reflect.get(all, name)) });
  await t.rejects(limit.enter("default", broken, ""), { message: "broken" });
  isBroken = false;
  t.same(await limit.enter("default", broken, ""), {});
});

t.test("each prefix and each namespace has its own limit", async (t) => {
  const clock = new HandClock();
  const limit = new StorageLimit(1, "entries", clock);
  const { store } = counted(testCall().store<number>("rooms"), clock);
  const { store: other } = counted(testCall({ namespace: "team" }).store<number>("rooms"), clock);
  t.same(await limit.enter("default", store, "a/"), {});
  await store.set("a/1", 1);
  t.same(await limit.enter("default", store, "b/"), {});
  t.same(await limit.enter("team", other, "a/"), {});
  clock.time += 20;
  t.same(await limit.enter("default", store, "a/"), FULL);
});

t.test("each further process may exceed the maximum by less than half of it", async (t) => {
  const clock = new HandClock();
  const { store } = counted(testCall().store<number>("shared-room"), clock);
  let written = 0;
  const write = async (limit: StorageLimit): Promise<boolean> => {
    clock.time += 20;
    const isFull = (await limit.enter("default", store, "")).ifPresent === true;
    if (!isFull) await store.set(`${written++}`, 1);
    return !isFull;
  };
  // All processes count while the free capacity is largest. Then each writes as much as it may.
  const limits = Array.from({ length: 3 }, () => new StorageLimit(16, "entries", clock));
  for (const limit of limits) await write(limit);
  for (const limit of limits) while (await write(limit));
  t.ok(written > 16, `${written} entries`);
  t.ok(written <= 16 + 2 * 7, `${written} entries`);
});
