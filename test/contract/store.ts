/** What every engine of the store must do: a test for each sentence of src/store/store.ts. */
import { randomBytes } from "node:crypto";
import type { Test } from "tap";
import type { Entry, Store } from "../../src/store/store.js";

const VALUES = ["", "text", ":colon", '{"value":"json"}', "grüße\u0000\n"];

type Check = (t: Test, store: Store, openAgain: () => Promise<Store>) => Promise<void>;

const BEHAVIOURS: Record<string, Check> = {
  "gives back what was created": async (t, store) => {
    const log = store.collection("log");
    for (const value of VALUES) {
      t.equal(await log.create(`key ${value}`, value), true);
      t.equal(await log.get(`key ${value}`), value);
    }
  },
  "says that a key is absent": async (t, store) => {
    t.equal(await store.collection("log").get("absent"), undefined);
  },
  "creates a key once, and keeps the first value": async (t, store) => {
    const log = store.collection("log");
    t.equal(await log.create("1", "first"), true);
    t.equal(await log.create("1", "second"), false);
    t.equal(await log.get("1"), "first");
  },
  "lets one of many win a key": async (t, store) => {
    const log = store.collection("log");
    const won = await Promise.all(Array.from({ length: 50 }, (_, writer) => log.create("1", `${writer}`)));
    t.equal(won.filter(Boolean).length, 1);
    t.equal(await log.get("1"), `${won.indexOf(true)}`);
  },
  "lets one of many win a key, in whichever process they are": async (t, store, openAgain) => {
    const stores = [store, await openAgain(), await openAgain()];
    const writers = stores.flatMap((each) => Array.from({ length: 10 }, () => each.collection("log")));
    const won = await Promise.all(writers.map((log, writer) => log.create("1", `${writer}`)));
    t.equal(won.filter(Boolean).length, 1);
    for (const each of stores) t.equal(await each.collection("log").get("1"), `${won.indexOf(true)}`);
  },
  "creates a key after another entry only while that one is there, with that value": async (t, store) => {
    const log = store.collection("log");
    t.equal(await log.commit({ expect: ["1", "one"], create: [["2", "two"]] }), false);
    await log.create("1", "one");
    t.equal(await log.commit({ expect: ["1", "another"], create: [["2", "two"]] }), false);
    t.equal(await log.get("2"), undefined);
    t.equal(await log.commit({ expect: ["1", "one"], create: [["2", "two"]] }), true);
    t.equal(await log.commit({ expect: ["1", "one"], create: [["2", "again"]] }), false);
    t.equal(await log.get("2"), "two");
  },
  "creates a key after an entry of any value": async (t, store) => {
    const log = store.collection("log");
    for (const [index, value] of VALUES.entries()) {
      await log.create(`${index}`, value);
      t.equal(await log.commit({ expect: [`${index}`, value], create: [[`after ${index}`, ""]] }), true);
    }
  },
  "creates several keys after another entry, all of them or none": async (t, store) => {
    const log = store.collection("log");
    const entries = VALUES.map((value, index) => [`1${index}`, value] as const);
    t.equal(await log.commit({ expect: ["1", "one"], create: entries }), false);
    t.same(await log.keys(), []);
    await log.create("1", "one");
    t.equal(await log.commit({ expect: ["1", "one"], create: entries }), true);
    t.same(await log.after("1", 99), entries);
    t.equal(
      await log.commit({
        expect: ["1", "one"],
        create: [
          ["10", "again"],
          ["2", "two"],
        ],
      }),
      false,
    );
    t.equal(await log.get("2"), undefined);
    const taken: Entry[] = [
      ["2", "two"],
      ["12", "again"],
      ["3", "three"],
    ];
    await t.rejects(log.commit({ expect: ["1", "one"], create: taken }), { name: "StoreError" });
    t.same(await log.getMany(["2", "12", "3"]), [undefined, VALUES[2], undefined]);
  },
  "makes a commit with what goes into another collection, all of it or nothing": async (t, store, openAgain) => {
    const log = store.collection("log");
    const audit = store.collection("audit");
    const other = await openAgain();
    const contents = async (each: Store) => [
      await each.collection("log").after("", 99),
      await each.collection("audit").after("", 99),
    ];
    for (const key of ["a", "b", "c"]) await audit.create(key, "old");
    const beside = {
      collection: "audit",
      set: [
        ["b", "new"],
        ["d", VALUES[4]!],
      ],
      delete: ["c", "absent"],
    } as const;
    const before = await contents(store);
    t.equal(await log.commit({ expect: ["1", "one"], create: [["2", "two"]], beside }), false, "nothing is expected");
    t.same(await contents(store), before);
    t.equal(
      await log.commit({
        create: [
          ["1", "one"],
          ["2", "two"],
        ],
        beside,
      }),
      true,
    );
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
    const wrong = { collection: "audit", set: [["a", "wrong"]], delete: ["b"] } as const;
    t.equal(await log.commit({ expect: ["2", "two"], create: [["1", "x"]], beside: wrong }), false, "the key is taken");
    t.equal(
      await log.commit({ expect: ["2", "x"], create: [["3", "x"]], beside: wrong }),
      false,
      "it has another value",
    );
    const taken: Entry[] = [
      ["3", "x"],
      ["1", "x"],
    ];
    await t.rejects(log.commit({ expect: ["2", "two"], create: taken, beside: wrong }), { name: "StoreError" });
    t.same(await contents(store), after);
    const own = {
      collection: "log",
      set: [
        ["1", "first"],
        ["4", "four"],
      ],
      delete: ["2"],
    } as const;
    t.equal(
      await log.commit({ expect: ["2", "two"], create: [["3", "three"]], beside: own }),
      true,
      "or into the same one",
    );
    t.same(await log.after("", 99), [
      ["1", "first"],
      ["3", "three"],
      ["4", "four"],
    ]);
    t.equal(await log.create("5", "five"), true, "and writes go on");
  },
  "shows a commit to others at one moment": async (t, store, openAgain) => {
    const log = store.collection("log");
    const other = await openAgain();
    await log.create("0", "");
    let writing = true;
    const write = async (): Promise<void> => {
      for (let round = 1; round <= 30; round++) {
        const beside = { collection: "audit", set: [["newest", `${round}`]], delete: [] } as const;
        await log.commit({ expect: [`${round - 1}`, ""], create: [[`${round}`, ""]], beside });
      }
      writing = false;
    };
    const read = async (): Promise<void> => {
      while (writing) {
        const newest = (await other.collection("audit").get("newest")) ?? "0";
        if ((await other.collection("log").get(newest)) === undefined) t.fail(`${newest} is there before its entry`);
        const entries = (await other.collection("log").keys()).length - 1;
        const seen = Number((await other.collection("audit").get("newest")) ?? 0);
        if (seen < entries) t.fail(`entry ${entries} is there before what goes with it`);
      }
    };
    await Promise.all([write(), read()]);
    t.equal(await other.collection("audit").get("newest"), "30");
  },
  "lets one of many win a chain of keys, in whichever process they are": async (t, store, openAgain) => {
    const log = store.collection("log");
    await log.create("0", "first");
    const stores = [store, await openAgain(), await openAgain()];
    const writers = stores.flatMap((each) => Array.from({ length: 5 }, () => each.collection("log")));
    const chainOf = (writer: number): Entry[] =>
      Array.from({ length: 1 + (writer % 4) }, (_, index) => [`${index + 1}`, `${writer}`]);
    const won = await Promise.all(
      writers.map((log, writer) => {
        const beside = { collection: "audit", set: [["winner", `${writer}`]], delete: [] } as const;
        return log.commit({ expect: ["0", "first"], create: chainOf(writer), beside });
      }),
    );
    t.equal(won.filter(Boolean).length, 1);
    t.same(await log.after("0", 99), chainOf(won.indexOf(true)));
    t.equal(await store.collection("audit").get("winner"), `${won.indexOf(true)}`);
  },
  "replaces the value of a key that is there, and of no other": async (t, store, openAgain) => {
    const log = store.collection("log");
    const other = (await openAgain()).collection("log");
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
  "deletes a key where it has a value, and only then": async (t, store) => {
    const log = store.collection("log");
    for (const value of VALUES) {
      t.equal(await log.deleteIf("1", value), false);
      await log.create("1", value);
      t.equal(await log.deleteIf("1", `${value} `), false);
      t.equal(await log.get("1"), value);
      t.equal(await log.deleteIf("1", value), true);
      t.equal(await log.get("1"), undefined);
    }
  },
  "lets either a replacement or a conditional deletion win": async (t, store, openAgain) => {
    const log = store.collection("log");
    const other = (await openAgain()).collection("log");
    for (let round = 0; round < 20; round++) {
      await log.create("1", "old");
      const [replaced, deleted] = await Promise.all([log.replace("1", "new"), other.deleteIf("1", "old")]);
      t.not(replaced, deleted);
      t.equal(await log.get("1"), replaced ? "new" : undefined);
      await log.delete(["1"]);
    }
  },
  "gives many values in the order asked for": async (t, store) => {
    const log = store.collection("log");
    await log.create("a", "1");
    await log.create("b", "2");
    t.same(await log.getMany(["b", "absent", "a"]), ["2", undefined, "1"]);
    t.same(await log.getMany([]), []);
  },
  "gives the entries after a key, in order, at most as many as asked for": async (t, store) => {
    const log = store.collection("log");
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
  "gives the entries before a key, in descending order, at most as many as asked for": async (t, store) => {
    const log = store.collection("log");
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
  "says how much room a collection takes": async (t, store) => {
    const audit = store.collection("audit");
    const before = await audit.size();
    for (let index = 0; index < 20; index++) await audit.create(`${index}`, randomBytes(10_000).toString("hex"));
    const grown = (await audit.size()) - before;
    t.ok(grown >= 100_000 && grown < 4_000_000, `${grown}`);
  },
  "gives entries after a key whatever characters the values have": async (t, store) => {
    const log = store.collection("log");
    for (const [index, value] of VALUES.entries()) await log.create(`${index}`, value);
    t.same(
      (await log.after("", 10)).map(([, value]) => value),
      VALUES,
    );
  },
  "sees in every read what was created or deleted before, by any process": async (t, store, openAgain) => {
    const log = store.collection("log");
    const other = (await openAgain()).collection("log");
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
  "reads several keys as they were at one moment, and deletes them at one": async (t, store, openAgain) => {
    const log = store.collection("log");
    const other = (await openAgain()).collection("log");
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
  "deletes many, and none": async (t, store) => {
    const log = store.collection("log");
    for (const key of ["a", "b", "c"]) await log.create(key, key);
    await log.delete(["a", "c", "absent"]);
    await log.delete([]);
    t.same(await log.keys(), ["b"]);
    t.equal(await log.create("a", "anew"), true);
  },
  "lists keys in order, whatever characters they have": async (t, store) => {
    const log = store.collection("log");
    const keys = ["%", "0001", "0002", "0010", "_", "a:b", "log:a"];
    for (const key of keys.toReversed()) await log.create(key, "");
    t.same(await log.keys(), keys);
    t.equal(await log.get("log:a"), "");
  },
  "keeps collections apart": async (t, store) => {
    await store.collection("log").create("1", "entry");
    t.equal(await store.collection("snapshots").get("1"), undefined);
    t.same(await store.collection("snapshots").keys(), []);
    t.equal(await store.collection("snapshots").create("1", "snapshot"), true);
  },
  "says what its server's clock says, where it has a server": async (t, store) => {
    const time = await store.time();
    if (store.mayBeStale) t.ok(Math.abs(time! - Date.now()) < 60_000, `${time}`);
    else t.equal(time, undefined);
  },
};

export interface Engine {
  /** Opens an empty store. */
  open(t: Test): Promise<Store>;
  /** Opens a store with the same content, as another process does. */
  openAgain(store: Store): Promise<Store>;
}

export function storeContract(t: Test, { open, openAgain }: Engine): void {
  for (const [behaviour, check] of Object.entries(BEHAVIOURS)) {
    t.test(behaviour, async (t) => {
      const store = await open(t);
      t.teardown(() => store.close());
      await check(t, store, async () => {
        const again = await openAgain(store);
        t.teardown(() => again.close());
        return again;
      });
    });
  }
}
