/**
 * The entries that handlers store with `call.store`: separated by service, namespace and
 * collection, limited, and safe from races.
 */

import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import { ChangeFeeds } from "../../src/kit/change-feeds.js";
import { CollectionStore } from "../../src/kit/collection-store.js";
import { Quota } from "../../src/kit/quota.js";
import type { Store, Write } from "../../src/kit/store.js";
import { StoreReads } from "../../src/kit/store-reads.js";
import { openServiceStore } from "../../src/store/open.js";
import { StoreError } from "../../src/store/store.js";
import { overriding } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

const allReads = new StoreReads();
const { signal } = new AbortController();
const reads = allReads.of({ caller: undefined, namespace: "default", clientAddress: "127.0.0.1", signal });
const shared = { reads, feeds: new ChangeFeeds(allReads), signal };

type Make = <T = unknown>(place?: { service?: string; namespace?: string; collection?: string }) => Store<T>;

async function opened(t: Test): Promise<Make> {
  const store = await openServiceStore("sqlite:", t.testdir());
  t.teardown(() => store.close());
  const onFailure = (error: StoreError) => t.fail(error.message);
  return (place) =>
    new CollectionStore({
      open: async () => store,
      ...shared,
      ...{ service: "shop", namespace: "default", collection: "orders", ...place },
      onFailure,
    });
}

t.test("services, namespaces and collections cannot see each other's entries", async (t) => {
  const make = await opened(t);
  const places = [
    {},
    { service: "sho" },
    { service: "shop-p" },
    { namespace: "other" },
    { namespace: "default-orders" },
    { collection: "order" },
    { collection: "orders-2" },
  ];
  for (const [index, place] of places.entries()) {
    const store = make(place);
    t.same(await store.range(), { entries: [], next: undefined });
    t.equal(await store.get("key"), undefined);
    t.equal(await store.createIfAbsent("key", index), true);
    await store.set("p/orders/key", index);
  }
  for (const [index, place] of places.entries()) {
    const store = make(place);
    t.same(await store.getMany(["key", "p/orders/key"]), [index, index]);
    t.equal(await store.count(), 2);
    t.equal(await store.delete("key"), true);
    t.equal(await store.count(), 1);
  }
});

t.test("concurrent changes are lost if a handler gets and sets, but not if it updates", async (t) => {
  const make = await opened(t);
  const racers = Array.from({ length: 64 }, (_, racer) => racer);
  const unsafe = make<number[]>({ collection: "unsafe" });
  await Promise.all(racers.map(async (racer) => unsafe.set("list", [...((await unsafe.get("list")) ?? []), racer])));
  t.ok(((await unsafe.get("list")) ?? []).length < 64, "some were lost");
  const safe = make<number[]>();
  await Promise.all(racers.map((racer) => safe.update("list", (list = []) => [...list, racer])));
  t.same(
    [...((await safe.get("list")) ?? [])].sort((a, b) => a - b),
    racers,
  );
  await Promise.all(racers.map(() => safe.increment("count")));
  t.equal(await make<number>().get("count"), 64);
});

t.test("commits that move money neither create nor lose any, and overdraw no balance", async (t) => {
  const make = await opened(t);
  const wallets = make<number>();
  for (const name of ["a", "b", "c"]) await wallets.set(`balance/${name}`, 10);
  const transfer = (from: string, to: string, id: string) =>
    wallets.commit([
      { increment: `balance/${from}`, by: -3, min: 0, ifPresent: true },
      { increment: `balance/${to}`, by: 3, ifPresent: true },
      { collection: "transfers", set: id, value: { from, to }, ifAbsent: true },
    ]);
  const results = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      transfer("abc"[index % 3] as string, "abc"[(index + 1) % 2] as string, `${index % 48}`),
    ),
  );
  const balances = await wallets.getMany(["balance/a", "balance/b", "balance/c"]);
  t.equal(
    balances.reduce<number>((sum, balance) => sum + (balance ?? 0), 0),
    30,
  );
  t.ok(balances.every((balance) => (balance ?? -1) >= 0));
  t.equal(await make({ collection: "transfers" }).count(), results.filter(({ committed }) => committed).length);
  t.same(await transfer("a", "nobody", "new"), { committed: false, failed: 1 });
});

t.test("a page continues where the previous one ended, in both directions", async (t) => {
  const make = await opened(t);
  const store = make<number>();
  const keys = ["a", "b/1", "b/10", "b/2", "b/é", "b/😀", "b0", "c"];
  for (const [index, key] of keys.entries()) await store.set(key, index);
  const below = keys.filter((key) => key.startsWith("b/"));
  for (const reverse of [false, true]) {
    const seen: string[] = [];
    for (let after: string | undefined, more = true; more; ) {
      const page = await store.range({ prefix: "b/", after, limit: 2, reverse });
      seen.push(...page.entries.map(({ key }) => key));
      after = page.next;
      more = after !== undefined;
    }
    t.same(seen, reverse ? below.toReversed() : below);
  }
  t.match((await store.range({ prefix: "b/2" })).entries, [
    { key: "b/2", value: 3, version: String, expires: undefined },
  ]);
});

t.test("an entry is absent once it has expired, and updates do not change when it expires", async (t) => {
  const make = await opened(t);
  const store = make<number>();
  await store.set("key", 1, { ttlMs: 3_600_000 });
  const before = (await store.getEntry("key"))?.expires;
  t.ok(before !== undefined && before > Date.now());
  await store.update("key", (value = 0) => value + 1);
  await store.increment("key", 2);
  t.match(await store.getEntry("key"), { value: 4, expires: before });
  await store.set("key", 1);
  t.match(await store.getEntry("key"), { value: 1, expires: undefined });
  await store.set("short", 1, { ttlMs: 0.001 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(await store.get("short"), undefined);
  t.equal(await store.delete("short"), false);
});

const LONG = "x".repeat(1024 ** 2);
const REFUSED: readonly [what: string, act: (store: Store<unknown>) => Promise<unknown>, message: RegExp][] = [
  ["an empty key", (store) => store.get(""), /^key: must have 1 to 512 bytes, got 0$/],
  ["a long key", (store) => store.set("é".repeat(257), 1), /^key: must have 1 to 512 bytes, got 514$/],
  ["a key with NUL", (store) => store.delete("a\0b"), /^key: must be Unicode text without NUL$/],
  ["a key with half a surrogate pair", (store) => store.increment("a\ud800"), /^key: must be Unicode text/],
  ["a long value", (store) => store.set("key", LONG), /^value: has more than 1 MiB/],
  ["a long value of an update", (store) => store.update("key", () => LONG), /^value: has more than 1 MiB/],
  ["a part of a number", (store) => store.increment("key", 0.5), /^by: must be a whole number, got 0.5$/],
  ["a time that has passed", (store) => store.set("key", 1, { ttlMs: 0 }), /^ttl: must be more than 0, got 0$/],
  ["no limit", (store) => store.range({ limit: 0 }), /^limit: must be from 1 to 1000, got 0$/],
  ["a large limit", (store) => store.range({ limit: 1001 }), /^limit: must be from 1 to 1000, got 1001$/],
  [
    "a page of another prefix",
    (store) => store.range({ prefix: "a", after: "b" }),
    /^after: must begin with the prefix$/,
  ],
  ["many keys", (store) => store.getMany(Array(101).fill("key")), /^keys: must be at most 100, got 101$/],
  ["many writes", (store) => store.commit(Array(101).fill({ check: "a" })), /^writes: must be at most 100, got 101$/],
  [
    "much in a commit",
    (store) => store.commit(Array<Write>(5).fill({ set: "a", value: LONG.slice(9) })),
    /more than 4 MiB/,
  ],
];

t.test("values outside the limits are refused, and nothing is written", async (t) => {
  const store = (await opened(t))();
  for (const [what, act, message] of REFUSED) {
    await t.rejects(async () => act(store), { code: Code.INVALID_ARGUMENT, message }, what);
  }
  t.equal(await store.count(), 0);
});

t.test("the caller gets UNAVAILABLE for a store that cannot be used, without its path", async (t) => {
  const failures: string[] = [];
  const store = new CollectionStore({
    open: () => Promise.reject(new StoreError("store /secret/place is locked")),
    ...shared,
    ...{ service: "shop", namespace: "default", collection: "orders" },
    onFailure: ({ message }) => failures.push(message),
  });
  await t.rejects(store.get("key"), {
    code: Code.UNAVAILABLE,
    message: "what the service keeps cannot be read or written; try again",
  });
  t.same(failures, ["store /secret/place is locked"]);
});

t.test("the error for a failed write says that its outcome is unknown, the error for a read does not", async (t) => {
  const broken = () => Promise.reject(new StoreError("store /secret/place did not respond within 10000 ms"));
  const { close, ...real } = overriding(await openServiceStore("sqlite:", temporaryFolder(t)), {});
  t.teardown(() => close());
  const store = new CollectionStore({
    open: async () => ({ ...real, close, get: broken, commit: broken }),
    ...shared,
    ...{ service: "shop", namespace: "default", collection: "orders" },
    onFailure: () => undefined,
  });
  await t.rejects(store.get("key"), { code: Code.UNAVAILABLE, message: /^what the service keeps cannot be read/ });
  const unknown = /^it is not known whether the service has kept what this call changes; try again, with the same/;
  await t.rejects(store.set("key", 1), { code: Code.UNAVAILABLE, message: unknown });
});

t.test("a bigint is refused, and the error says how to store it", async (t) => {
  const make = await opened(t);
  const message = /^the value to store has a bigint.* store `String\(number\)`, and read `BigInt\(text\)`$/;
  await t.rejects(make().set("key", { revision: 1n }), { name: "TypeError", message });
  await t.rejects(make().commit([{ set: "key", value: [1n] }]), { name: "TypeError", message });
});

t.test("a quota", async (t) => {
  const open = async (t: Test, max: number) => {
    const store = await openServiceStore("sqlite:", t.testdir());
    t.teardown(() => store.close());
    const options = { open: async () => store, ...shared, quota: new Quota(max), onFailure: () => undefined };
    const make = <T>(place: { namespace?: string; service?: string; collection?: string; quota?: undefined } = {}) =>
      new CollectionStore<T>({ ...options, service: "shop", namespace: "default", collection: "orders", ...place });
    return { store, make };
  };
  const full = {
    code: Code.RESOURCE_EXHAUSTED,
    message: "the service shop may store 300 bytes in the namespace default (PORTICO_SERVICE_QUOTA)",
  };

  t.test(
    "limits the bytes of a service in a namespace, in all its collections, and a deletion frees them",
    async (t) => {
      const { make } = await open(t, 300);
      const text = "x".repeat(100);
      const [orders, others] = [make<string>(), make<string>({ collection: "others" })];
      await orders.set("1", text);
      await others.set("1", text);
      for (const write of [
        () => orders.set("2", text),
        () => orders.createIfAbsent("2", text),
        () => others.update("1", () => text + text),
        () => orders.commit([{ set: "2", value: text, collection: "others" }]),
      ]) {
        await t.rejects(async () => void (await write()), full);
      }
      await make({ namespace: "other" }).set("1", text);
      await make({ service: "shop-2" }).set("1", text);
      t.equal(await others.delete("1"), true);
      t.same(await orders.commit([{ set: "2", value: text }]), { committed: true, values: [text] });
      t.equal(await orders.createIfAbsent("2", text), false, "a condition that does not hold is no exceeded quota");
    },
  );

  t.test("counts what was there before it was set, and not the changes for watches", async (t) => {
    const { make } = await open(t, 300);
    const unlimited = make<string>({ quota: undefined });
    await unlimited.revision();
    for (let index = 0; index < 10; index++) await unlimited.set("1", "x".repeat(100));
    await make<string>().set("2", "x");
    await t.rejects(make<string>().set("3", "x".repeat(200)), full);
  });

  t.test("finds the bytes of entries that have expired when it is reached", async (t) => {
    const { make, store } = await open(t, 300);
    const orders = make<string>();
    await orders.set("1", "x".repeat(200), { ttlMs: 1 });
    await until(async () => (await orders.get("1")) === undefined);
    await store.sweep();
    await orders.set("2", "x".repeat(200));
    await t.rejects(orders.set("3", "x".repeat(200)), full);
  });
});
