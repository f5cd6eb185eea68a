/**
 * The guarantees of `watch` and `revision` (src/kit/store.ts) on an engine of the store. Each
 * `Process` stands for a process: it has its own connection and its own feeds.
 */
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import { ChangeFeeds } from "../../src/kit/change-feeds.js";
import { CollectionStore } from "../../src/kit/collection-store.js";
import type { ChangeWatch, EntryChange, Store } from "../../src/kit/store.js";
import { StoreReads } from "../../src/kit/store-reads.js";
import { MAX_CHANGES } from "../../src/store/change-log.js";
import type { KeyValueStore, StoredWrite } from "../../src/store/store.js";
import { until } from "../support/until.js";
import { type Check, checkOn, type Engine } from "./store-engine.js";

const RACERS = 32;

class Process {
  readonly feeds: ChangeFeeds;
  readonly store: KeyValueStore;
  readonly #reads = new StoreReads();
  readonly #end = new AbortController();

  constructor(store: KeyValueStore) {
    this.store = store;
    this.feeds = new ChangeFeeds(this.#reads);
  }

  /** A collection, as a call sees it. */
  collection<T = number>(collection = "orders", signal: AbortSignal = this.#end.signal): Store<T> {
    const call = { caller: undefined, namespace: "default", clientAddress: "127.0.0.1", signal };
    return new CollectionStore<T>({
      open: async () => this.store,
      reads: this.#reads.of(call),
      feeds: this.feeds,
      signal,
      service: "shop",
      namespace: "default",
      collection,
      onFailure: () => undefined,
    });
  }
}

async function take<T>(watch: ChangeWatch<T>, count: number): Promise<EntryChange<T>[]> {
  const changes: EntryChange<T>[] = [];
  while (changes.length < count) {
    const next = await watch.next();
    if (next.done) throw new Error(`the watch ended after ${changes.length} changes`);
    changes.push(next.value);
  }
  return changes;
}

const texts = <T>(changes: readonly EntryChange<T>[]) => changes.map(({ key, value }) => `${key}=${value}`);

const BEHAVIOURS: Record<string, Check> = {
  "returns each kind of change with its key and value, in order": async (t, store) => {
    const orders = new Process(store).collection();
    const watch = orders.watch("", await orders.revision());
    await orders.set("a", 1);
    await orders.createIfAbsent("b", 1);
    await orders.increment("b", 4);
    await orders.update("a", (value = 0) => value + 1);
    await orders.commit([{ check: "a" }, { set: "c", value: 1 }, { delete: "a" }]);
    await orders.delete("a");
    await orders.createIfAbsent("b", 9);
    await orders.set("z", 1);
    const changes = await take(watch, 7);
    t.same(texts(changes), ["a=1", "b=1", "b=5", "a=2", "c=1", "a=undefined", "z=1"]);
    const revisions = changes.map(({ revision }) => revision);
    t.same(
      revisions.map((revision) => revision - revisions[0]!),
      [0, 1, 2, 3, 4, 5, 6],
    );
    t.equal(await orders.revision(), revisions.at(-1));
  },
  "returns only the changes of its collection and prefix": async (t, store) => {
    const one = new Process(store);
    const [orders, others] = [one.collection(), one.collection("others")];
    const all = orders.watch("", await orders.revision());
    const ada = orders.watch("ada/", await orders.revision());
    await others.revision();
    await orders.commit([
      { set: "bob/1", value: 1 },
      { set: "1", value: 1, collection: "others" },
      { set: "ada/1", value: 2 },
    ]);
    await others.commit([
      { set: "ada/2", value: 3, collection: "orders" },
      { set: "2", value: 1 },
    ]);
    t.same(texts(await take(ada, 2)), ["ada/1=2", "ada/2=3"]);
    t.same(texts(await take(all, 3)), ["bob/1=1", "ada/1=2", "ada/2=3"]);
  },
  "begins from now on without a revision, also before its first change is taken": async (t, store) => {
    const orders = new Process(store).collection();
    await orders.revision();
    await orders.set("before", 1);
    const watch = orders.watch();
    await orders.revision();
    await orders.set("after", 1);
    t.same(texts(await take(watch, 1)), ["after=1"]);
  },
  "waits for changes, and returns changes of other processes too": async (t, store, openAgain) => {
    const [one, other] = [new Process(store), new Process(await openAgain())];
    const watch = one.collection().watch("", await one.collection().revision());
    for (const [index, process] of [one, other, one, other].entries()) {
      const next = take(watch, 1);
      await process.collection().set(`${index}`, index);
      t.same(texts(await next), [`${index}=${index}`]);
    }
  },
  "goes on after any revision": async (t, store, openAgain) => {
    const orders = new Process(store).collection();
    const start = await orders.revision();
    for (let index = 1; index <= 50; index++) await orders.set(`${index}`, index);
    const again = new Process(await openAgain()).collection();
    for (const from of [0, 1, 19, 20, 49]) {
      const changes = await take(again.watch("", start + from), 50 - from);
      t.same(
        changes.map(({ value }) => value),
        Array.from({ length: 50 - from }, (_, index) => from + index + 1),
      );
    }
  },
  "refuses revisions whose changes are not kept, and says how to begin again": async (t, store) => {
    const one = new Process(store);
    const orders = one.collection();
    const start = await orders.revision();
    const log = "shop/default/~changes/orders";
    const many = Array.from({ length: MAX_CHANGES + 1 }, (): StoredWrite => {
      return { kind: "set", key: "shop/default/orders/a", value: "1", expires: undefined, log };
    });
    await store.commit(many);
    const gone = { code: Code.OUT_OF_RANGE, message: /get the revision, read the entries again, and watch after/ };
    for (const after of [0, start, start + MAX_CHANGES + 2]) {
      await t.rejects(orders.watch("", after).next(), gone, `${after - start}`);
    }
    t.equal((await take(orders.watch("", start + 1), 1))[0]?.revision, start + 2);
    // A change that has expired is dropped too.
    const [dropped] = (await store.range({ from: `${log}/`, to: `${log}0`, limit: 1 })).entries;
    await store.commit([{ kind: "delete", key: dropped!.key }]);
    await t.rejects(orders.watch("", start + 1).next(), gone);
    for (const after of [-1, 0.5, Number.NaN]) {
      t.throws(() => orders.watch("", after), { code: Code.INVALID_ARGUMENT, message: /^after: / });
    }
  },
  "is refused at its next read if it was too slow for the changes that are kept": async (t, store) => {
    const one = new Process(store);
    const orders = one.collection();
    const watch = orders.watch("", await orders.revision());
    for (let index = 0; index < 30; index++) await orders.set(`${index}`, index);
    await take(watch, 1);
    const log = "shop/default/~changes/orders";
    const { entries } = await store.range({ from: `${log}/`, to: `${log}0`, limit: 30 });
    await store.commit(entries.map(({ key }) => ({ kind: "delete", key })));
    await t.rejects(take(watch, 29), { code: Code.OUT_OF_RANGE });
  },
  "ends when its call ends, or `return` is called, also while it waits": async (t, store) => {
    const one = new Process(store);
    const leave = new AbortController();
    const left = one.collection("orders", leave.signal).watch();
    const returned = one.collection().watch();
    for (const [watch, end] of [
      [left, () => leave.abort()],
      [returned, () => returned.return()],
    ] as const) {
      const next = watch.next();
      await until(() => one.feeds.size === 1);
      end();
      t.same(await next, { done: true, value: undefined });
    }
    t.equal(one.feeds.size, 0, "nothing follows the log any more");
  },
  "ends with UNAVAILABLE when the process stops": async (t, store) => {
    const one = new Process(store);
    const watch = one.collection().watch("", await one.collection().revision());
    const next = watch.next();
    await one.collection().set("a", 1);
    await next;
    const waiting = t.rejects(watch.next(), { code: Code.UNAVAILABLE });
    one.feeds.close();
    await waiting;
  },
  [`misses no change of ${RACERS} writers in several processes, and all see one order`]: async (
    t,
    store,
    openAgain,
  ) => {
    const processes = [new Process(store), new Process(await openAgain()), new Process(await openAgain())];
    const start = await processes[0]!.collection().revision();
    const watches = processes.map((process) => process.collection().watch("", start));
    const seen = watches.map((watch) => take(watch, RACERS * 4));
    await Promise.all(
      Array.from({ length: RACERS }, async (_, racer) => {
        const orders = processes[racer % 3]!.collection();
        for (let round = 0; round < 4; round++) await orders.set(`${racer}`, round);
      }),
    );
    const [first, ...others] = (await Promise.all(seen)).map(texts);
    t.equal(new Set(first).size, RACERS * 4);
    for (const other of others) t.same(other, first);
    for (let racer = 0; racer < RACERS; racer++) {
      const own = first!.filter((text) => text.startsWith(`${racer}=`));
      t.same(own, [`${racer}=0`, `${racer}=1`, `${racer}=2`, `${racer}=3`], "in the order of its writes");
    }
  },
};

/** Runs the suite on an engine. */
export function watchContract(t: Test, engine: Engine): void {
  checkOn(t, engine, BEHAVIOURS);
}
