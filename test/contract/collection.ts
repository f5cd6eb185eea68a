/**
 * What the collections of the authority must do on every engine: a test for each sentence of
 * src/store/collection.ts.
 */
import type { Test } from "tap";
import { collectionOf, type KeyValue, writesTo } from "../../src/store/collection.js";
import { type KeyValueStore, MAX_TOTAL_BYTES } from "../../src/store/store.js";
import { type Check, checkOn, type Engine } from "./store-engine.js";

const VALUES = ["", "text", ":colon", '{"value":"json"}', "grüße\u0000\n"];

const [log, audit] = [writesTo("log"), writesTo("audit")];

const BEHAVIOURS: Record<string, Check> = {
  "returns the value that was created": async (t, store) => {
    const log = collectionOf(store, "log");
    for (const value of VALUES) {
      t.equal(await log.create(`key ${value}`, value), true);
      t.equal(await log.get(`key ${value}`), value);
    }
  },
  "returns undefined for an absent key": async (t, store) => {
    t.equal(await collectionOf(store, "log").get("absent"), undefined);
  },
  "creates a key once, and keeps the first value": async (t, store) => {
    const log = collectionOf(store, "log");
    t.equal(await log.create("1", "first"), true);
    t.equal(await log.create("1", "second"), false);
    t.equal(await log.get("1"), "first");
  },
  "lets only one of many concurrent writers create a key": async (t, store) => {
    const log = collectionOf(store, "log");
    const won = await Promise.all(Array.from({ length: 50 }, (_, writer) => log.create("1", `${writer}`)));
    t.equal(won.filter(Boolean).length, 1);
    t.equal(await log.get("1"), `${won.indexOf(true)}`);
  },
  "lets only one of many concurrent writers create a key, in any process": async (t, store, openAgain) => {
    const stores = [store, await openAgain(), await openAgain()];
    const writers = stores.flatMap((each) => Array.from({ length: 10 }, () => collectionOf(each, "log")));
    const won = await Promise.all(writers.map((log, writer) => log.create("1", `${writer}`)));
    t.equal(won.filter(Boolean).length, 1);
    for (const each of stores) t.equal(await collectionOf(each, "log").get("1"), `${won.indexOf(true)}`);
  },
  "creates a key after another row only while that row exists with that value": async (t, store) => {
    const rows = collectionOf(store, "log");
    t.equal(await rows.commit([log.expect(["1", "one"]), log.create(["2", "two"])]), false);
    await rows.create("1", "one");
    t.equal(await rows.commit([log.expect(["1", "another"]), log.create(["2", "two"])]), false);
    t.equal(await rows.get("2"), undefined);
    t.equal(await rows.commit([log.expect(["1", "one"]), log.create(["2", "two"])]), true);
    t.equal(await rows.commit([log.expect(["1", "one"]), log.create(["2", "again"])]), false);
    t.equal(await rows.get("2"), "two");
  },
  "creates a key after a row of any value": async (t, store) => {
    const rows = collectionOf(store, "log");
    for (const [index, value] of VALUES.entries()) {
      await rows.create(`${index}`, value);
      t.equal(await rows.commit([log.expect([`${index}`, value]), log.create([`after ${index}`, ""])]), true);
    }
  },
  "creates several keys after another row, all of them or none": async (t, store) => {
    const rows = collectionOf(store, "log");
    const entries = VALUES.map((value, index) => [`1${index}`, value] as const);
    const chain = [log.expect(["1", "one"]), ...entries.map(log.create)];
    t.equal(await rows.commit(chain), false);
    t.same(await rows.keys(), []);
    await rows.create("1", "one");
    t.equal(await rows.commit(chain), true);
    t.same(await rows.after("1", 99), entries);
    for (const taken of ["10", "12"]) {
      const writes = [["2", "two"] as const, [taken, "again"] as const, ["3", "three"] as const].map(log.create);
      t.equal(await rows.commit([log.expect(["1", "one"]), ...writes]), false);
      t.same(await rows.getMany(["2", "12", "3"]), [undefined, VALUES[2], undefined]);
    }
  },
  "makes all writes of a commit to several collections, or none": async (t, store, openAgain) => {
    const [rows, trail] = [collectionOf(store, "log"), collectionOf(store, "audit")];
    const other = await openAgain();
    const contents = (each: KeyValueStore) =>
      Promise.all([collectionOf(each, "log").after("", 99), collectionOf(each, "audit").after("", 99)]);
    for (const key of ["a", "b", "c"]) await trail.create(key, "old");
    const beside = [audit.set(["b", "new"]), audit.set(["d", VALUES[4]!]), audit.delete("c"), audit.delete("absent")];
    const before = await contents(store);
    t.equal(await rows.commit([log.expect(["1", "one"]), log.create(["2", "two"]), ...beside]), false);
    t.same(await contents(store), before);
    t.equal(await rows.commit([log.create(["1", "one"]), log.create(["2", "two"]), ...beside]), true);
    const after = [
      [
        ["1", "one"],
        ["2", "two"],
      ],
      [
        ["a", "old"],
        ["b", "new"],
        ["d", VALUES[4]],
      ],
    ];
    t.same(await contents(store), after);
    t.same(await contents(other), after, "and other processes see it");
    const wrong = [audit.set(["a", "wrong"]), audit.delete("b")];
    for (const refused of [
      [log.expect(["2", "two"]), log.create(["1", "x"])],
      [log.expect(["2", "x"]), log.create(["3", "x"])],
      [log.expect(["2", "two"]), log.create(["3", "x"]), log.create(["1", "x"])],
    ]) {
      t.equal(await rows.commit([...refused, ...wrong]), false);
      t.same(await contents(store), after);
    }
    t.equal(await rows.create("5", "five"), true, "and writes go on");
  },
  "shows all writes of a commit to others at the same moment, also in several collections": async (
    t,
    store,
    openAgain,
  ) => {
    const rows = collectionOf(store, "log");
    const other = await openAgain();
    const [otherRows, trail] = [collectionOf(other, "log"), collectionOf(other, "audit")];
    await rows.create("0", "");
    let writing = true;
    const write = async (): Promise<void> => {
      for (let round = 1; round <= 30; round++) {
        const entry = [log.expect([`${round - 1}`, ""]), log.create([`${round}`, ""])];
        await rows.commit([...entry, audit.set(["newest", `${round}`])]);
      }
      writing = false;
    };
    const read = async (): Promise<void> => {
      while (writing) {
        const newest = (await trail.get("newest")) ?? "0";
        if ((await otherRows.get(newest)) === undefined) t.fail(`${newest} is there before its entry`);
        const entries = (await otherRows.keys()).length - 1;
        const seen = Number((await trail.get("newest")) ?? 0);
        if (seen < entries) t.fail(`entry ${entries} is there before what goes with it`);
      }
    };
    await Promise.all([write(), read()]);
    t.equal(await trail.get("newest"), "30");
  },
  "lets only one of many concurrent writers create each key of a chain, in any process": async (
    t,
    store,
    openAgain,
  ) => {
    const rows = collectionOf(store, "log");
    await rows.create("0", "first");
    const stores = [store, await openAgain(), await openAgain()];
    const writers = stores.flatMap((each) => Array.from({ length: 5 }, () => collectionOf(each, "log")));
    const chainOf = (writer: number): KeyValue[] =>
      Array.from({ length: 1 + (writer % 4) }, (_, index) => [`${index + 1}`, `${writer}`]);
    const won = await Promise.all(
      writers.map((each, writer) => {
        const chain = [log.expect(["0", "first"]), ...chainOf(writer).map(log.create)];
        return each.commit([...chain, audit.set(["winner", `${writer}`])]);
      }),
    );
    t.equal(won.filter(Boolean).length, 1);
    t.same(await rows.after("0", 99), chainOf(won.indexOf(true)));
    t.equal(await collectionOf(store, "audit").get("winner"), `${won.indexOf(true)}`);
  },
  "replaces the value of a key only if the key exists": async (t, store, openAgain) => {
    const log = collectionOf(store, "log");
    const other = collectionOf(await openAgain(), "log");
    for (const options of [{}, { durable: false }]) {
      t.equal(await log.replace("1", "new", options), false);
      t.equal(await log.get("1"), undefined);
      await log.create("1", "old");
      t.equal(await log.replace("1", "new", options), true);
      t.equal(await log.get("1"), "new");
      t.equal(await other.get("1"), "new");
      await log.delete(["1"]);
    }
  },
  "deletes a key only if it has the given value": async (t, store) => {
    const log = collectionOf(store, "log");
    for (const value of VALUES) {
      t.equal(await log.deleteIf("1", value), false);
      await log.create("1", value);
      t.equal(await log.deleteIf("1", `${value} `), false);
      t.equal(await log.get("1"), value);
      t.equal(await log.deleteIf("1", value), true);
      t.equal(await log.get("1"), undefined);
    }
  },
  "lets only one of a replacement and a conditional deletion succeed": async (t, store, openAgain) => {
    const log = collectionOf(store, "log");
    const other = collectionOf(await openAgain(), "log");
    for (let round = 0; round < 20; round++) {
      await log.create("1", "old");
      const [replaced, deleted] = await Promise.all([log.replace("1", "new"), other.deleteIf("1", "old")]);
      t.not(replaced, deleted);
      t.equal(await log.get("1"), replaced ? "new" : undefined);
      await log.delete(["1"]);
    }
  },
  "returns many values in the order of the request": async (t, store) => {
    const log = collectionOf(store, "log");
    await log.create("a", "1");
    await log.create("b", "2");
    t.same(await log.getMany(["b", "absent", "a"]), ["2", undefined, "1"]);
    t.same(await log.getMany([]), []);
  },
  "returns the entries after a key in order, up to the limit": async (t, store) => {
    const log = collectionOf(store, "log");
    for (const key of ["0010", "0002", "0001", "0003"]) await log.create(key, `value ${key}`);
    t.same(await log.after("", 2), [
      ["0001", "value 0001"],
      ["0002", "value 0002"],
    ]);
    t.same(
      (await log.after("0002", 10)).map(([key]) => key),
      ["0003", "0010"],
    );
    t.same(await log.after("0002 is absent", 1), [["0003", "value 0003"]]);
    t.same(await log.after("0010", 1), []);
  },
  "returns the entries before a key in descending order, up to the limit": async (t, store) => {
    const log = collectionOf(store, "log");
    for (const key of ["0010", "0002", "0001", "0003"]) await log.create(key, `value ${key}`);
    t.same(await log.before("0010", 2), [
      ["0003", "value 0003"],
      ["0002", "value 0002"],
    ]);
    t.same(
      (await log.before("~", 10)).map(([key]) => key),
      ["0010", "0003", "0002", "0001"],
    );
    t.same(await log.before("0002 is absent", 1), [["0002", "value 0002"]]);
    t.same(await log.before("0001", 1), []);
  },
  "returns a page of rows after a key, and whether more rows follow": async (t, store) => {
    const rows = collectionOf(store, "log");
    for (const key of ["1", "2", "3"]) await rows.create(key, `value ${key}`);
    const page = async (key: string, limit: number) => {
      const { rows: found, more } = await rows.page(key, limit);
      return [found.map(([key, value]) => `${key} ${value}`).join(), more];
    };
    t.same(await page("", 2), ["1 value 1,2 value 2", true]);
    t.same(await page("1", 2), ["2 value 2,3 value 3", false]);
    t.same(await page("3", 2), ["", false]);
  },
  "returns all requested rows, even if they are longer than a page": async (t, store) => {
    const rows = collectionOf(store, "snapshots");
    const keys = Array.from({ length: 6 }, (_, index) => `${index}`);
    for (const key of keys) await rows.create(key, "x".repeat(MAX_TOTAL_BYTES / 4));
    const keysOf = (found: readonly KeyValue[]) => found.map(([key]) => key);
    t.same(keysOf(await rows.after("", 99)), keys);
    t.same(keysOf(await rows.after("0", 4)), keys.slice(1, 5));
    t.same(keysOf(await rows.before("~", 99)), keys.toReversed());
    t.equal((await rows.page("", 99)).more, true);
  },
  "returns entries after a key, with any characters in the values": async (t, store) => {
    const log = collectionOf(store, "log");
    for (const [index, value] of VALUES.entries()) await log.create(`${index}`, value);
    t.same(
      (await log.after("", 10)).map(([, value]) => value),
      VALUES,
    );
  },
  "sees in every read the earlier creations and deletions of all processes": async (t, store, openAgain) => {
    const log = collectionOf(store, "log");
    const other = collectionOf(await openAgain(), "log");
    const reads: Record<string, () => Promise<unknown>> = {
      get: () => log.get("1"),
      getMany: async () => (await log.getMany(["1"]))[0],
      after: async () => (await log.after("0", 1))[0]?.[1],
      before: async () => (await log.before("2", 1))[0]?.[1],
      keys: async () => (await log.keys())[0] && "x",
      "get elsewhere": () => other.get("1"),
      "getMany elsewhere": async () => (await other.getMany(["1"]))[0],
      "after elsewhere": async () => (await other.after("0", 1))[0]?.[1],
      "before elsewhere": async () => (await other.before("2", 1))[0]?.[1],
      "keys elsewhere": async () => (await other.keys())[0] && "x",
    };
    for (const [name, read] of Object.entries(reads)) {
      await log.create("1", "x");
      t.equal(await read(), "x", name);
      await log.delete(["1"]);
      t.equal(await read(), undefined, name);
    }
  },
  "reads several keys at one moment, and deletes them at one moment": async (t, store, openAgain) => {
    const log = collectionOf(store, "log");
    const other = collectionOf(await openAgain(), "log");
    let writing = true;
    const write = async (): Promise<void> => {
      for (let round = 0; round < 30; round++) {
        await other.create("a", "");
        await other.create("b", "");
        await other.delete(["a", "b"]);
      }
      writing = false;
    };
    const seen = new Set<string>();
    const read = async (): Promise<void> => {
      while (writing) {
        const [b, a] = await log.getMany(["b", "a"]);
        seen.add(`${a === undefined ? "" : "a"}${b === undefined ? "" : "b"}`);
        seen.add((await log.after("", 9)).map(([key]) => key).join(""));
        seen.add(
          (await log.before("z", 9))
            .map(([key]) => key)
            .reverse()
            .join(""),
        );
        seen.add((await log.keys()).join(""));
      }
    };
    await Promise.all([write(), read()]);
    t.notOk(seen.has("b"), "b is never there without a, which comes before it and goes with it");
  },
  "deletes many keys, or none": async (t, store) => {
    const log = collectionOf(store, "log");
    for (const key of ["a", "b", "c"]) await log.create(key, key);
    await log.delete(["a", "c", "absent"]);
    await log.delete([]);
    t.same(await log.keys(), ["b"]);
    t.equal(await log.create("a", "anew"), true);
  },
  "lists keys in order, with any characters in them": async (t, store) => {
    const log = collectionOf(store, "log");
    const keys = ["%", "0001", "0002", "0010", "_", "a:b", "log:a"];
    for (const key of keys.toReversed()) await log.create(key, "");
    t.same(await log.keys(), keys);
    t.equal(await log.get("log:a"), "");
  },
  "keeps collections apart": async (t, store) => {
    await collectionOf(store, "log").create("1", "entry");
    t.equal(await collectionOf(store, "snapshots").get("1"), undefined);
    t.same(await collectionOf(store, "snapshots").keys(), []);
    t.equal(await collectionOf(store, "snapshots").create("1", "snapshot"), true);
  },
};

export function collectionContract(t: Test, engine: Engine): void {
  checkOn(t, engine, BEHAVIOURS);
}
