/**
 * The entries that handlers store with `call.store`: separated by service, namespace and
 * collection, limited, and safe from races.
 */

import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import { CollectionStore } from "../../src/kit/collection-store.js";
import type { Store, Write } from "../../src/kit/store.js";
import { StoreReads } from "../../src/kit/store-reads.js";
import { openServiceStore } from "../../src/store/open.js";
import { StoreError } from "../../src/store/store.js";
import { overriding } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";

const reads = new StoreReads().of({
  caller: undefined,
  namespace: "default",
  clientAddress: "127.0.0.1",
  signal: new AbortController().signal,
});

type Make = <T = unknown>(place?: { service?: string; namespace?: string; collection?: string }) => Store<T>;

async function opened(t: Test): Promise<Make> {
  const store = await openServiceStore("sqlite:", t.testdir());
  t.teardown(() => store.close());
  const onFailure = (error: StoreError) => t.fail(error.message);
  return (place) =>
    new CollectionStore({
      open: async () => store,
      reads,
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
    reads,
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
    reads,
    ...{ service: "shop", namespace: "default", collection: "orders" },
    onFailure: () => undefined,
  });
  await t.rejects(store.get("key"), { code: Code.UNAVAILABLE, message: /^what the service keeps cannot be read/ });
  const unknown = /^it is not known whether the service has kept what this call changes; try again, with the same/;
  await t.rejects(store.set("key", 1), { code: Code.UNAVAILABLE, message: unknown });
});
