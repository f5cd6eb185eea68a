/** The guarantees of every engine of the store: a test for each sentence of src/store/store.ts. */
import { randomBytes } from "node:crypto";
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import { CHANGE_TTL_MS, MAX_CHANGES, readChange, revisionOf } from "../../src/store/change-log.js";
import { type CommitResult, type KeyValueStore, MAX_TOTAL_BYTES, type StoredWrite } from "../../src/store/store.js";
import { type Check, checkOn, type Engine } from "./store-engine.js";

const RACERS = 64;

const set = (key: string, value = "1", more: Partial<StoredWrite> = {}): StoredWrite =>
  ({ kind: "set", key, value, expires: undefined, ...more }) as StoredWrite;
const add = (key: string, by = 1, more: object = {}): StoredWrite => ({
  kind: "increment",
  key,
  by,
  min: Number.MIN_SAFE_INTEGER,
  max: Number.MAX_SAFE_INTEGER,
  expires: undefined,
  ...more,
});
const value = async (store: KeyValueStore, key: string) => (await store.get([key]))[0]?.value;
const keysOf = async (store: KeyValueStore, range: object = {}) => {
  const { entries } = await store.range({ from: "", to: "\u{10ffff}", limit: 1000, ...range });
  return entries.map(({ key }) => key);
};
/** The changes in a log: their keys and values, joined, and their revisions. */
const logged = async (store: KeyValueStore, log: string) => {
  const { entries } = await store.range({ from: `${log}/`, to: `${log}0`, limit: MAX_CHANGES + 1 });
  const texts = entries.map((entry) => Object.values(readChange(entry)).join("="));
  return { texts, revisions: entries.map(revisionOf), last: await value(store, log) };
};
/** A time in the past, and one long after the test. */
const PAST = 1;
const LATER = Number.MAX_SAFE_INTEGER;

const BEHAVIOURS: Record<string, Check> = {
  "returns the entries in the order of the keys, and undefined for absent keys": async (t, store) => {
    const values = ["", '":x"', '{"grüße":"\\u0000 😀"}', "x".repeat(100_000)];
    await store.commit(values.map((text, index) => set(`${index}`, text)));
    const found = await store.get(["3", "absent", "2", "1", "0"]);
    t.same(
      found.map((entry) => entry?.value),
      [values[3], undefined, values[2], values[1], values[0]],
    );
    t.same(await store.get([]), []);
  },
  "has the same ID in every process that opens it": async (t, store, openAgain) => {
    t.match(store.id, /^[0-9a-f-]{36}$/);
    const others = await Promise.all([openAgain(), openAgain()]);
    for (const other of others) t.equal(other.id, store.id);
  },
  "sees what another process has committed": async (t, store, openAgain) => {
    const other = await openAgain();
    for (const text of ["1", "2", "3"]) {
      await other.commit([set("key", text)]);
      t.equal(await value(store, "key"), text);
    }
    await other.commit([{ kind: "delete", key: "key" }]);
    t.equal(await value(store, "key"), undefined);
  },
  "returns a new version for each write, even for the same value and after a deletion": async (t, store) => {
    const versions = new Set<string | undefined>();
    for (const write of [set("key"), set("key"), add("key"), set("key")]) {
      await store.commit([write]);
      versions.add((await store.get(["key"]))[0]?.version);
      await store.commit([{ kind: "check", key: "key" }]);
      versions.add((await store.get(["key"]))[0]?.version);
    }
    await store.commit([{ kind: "delete", key: "key" }]);
    await store.commit([set("key")]);
    versions.add((await store.get(["key"]))[0]?.version);
    t.equal(versions.size, 5);
  },
  "orders keys by their bytes in UTF-8": async (t, store) => {
    const keys = ["\u0001", "%", "A", "_", "a", "a/1", "a0", "aa", "é", "豈", "\u{1f600}"];
    await store.commit(keys.toReversed().map((key) => set(key)));
    t.same(await keysOf(store), keys);
    t.same(await keysOf(store, { reverse: true }), keys.toReversed());
    t.same(await keysOf(store, { from: "a/", to: "a0" }), ["a/1"]);
  },
  "returns a part of a range, and whether others follow": async (t, store) => {
    await store.commit(["a", "b", "c", "d"].map((key) => set(key)));
    const part = async (range: object) => {
      const { entries, more } = await store.range({ from: "a", to: "z", limit: 2, ...range });
      return [entries.map(({ key }) => key).join(""), more];
    };
    t.same(await part({}), ["ab", true]);
    t.same(await part({ from: "b", afterFrom: true }), ["cd", false]);
    t.same(await part({ from: "b" }), ["bc", true]);
    t.same(await part({ to: "c" }), ["ab", false]);
    t.same(await part({ reverse: true }), ["dc", true]);
    t.same(await part({ reverse: true, to: "c" }), ["ba", false]);
    t.same(await part({ from: "x" }), ["", false]);
  },
  "returns fewer entries of a range than requested if they are long, but at least one": async (t, store) => {
    const long = "x".repeat(MAX_TOTAL_BYTES / 2 - 10);
    for (const key of ["a", "b", "c"]) await store.commit([set(key, long)]);
    await store.commit([set("d", "x".repeat(MAX_TOTAL_BYTES + 1))]);
    const first = await store.range({ from: "", to: "z", limit: 10 });
    t.same([first.entries.map(({ key }) => key), first.more], [["a", "b"], true]);
    const last = await store.range({ from: "d", to: "z", limit: 10 });
    t.same([last.entries.map(({ key }) => key), last.more], [["d"], false]);
  },
  "counts the entries of a range": async (t, store) => {
    await store.commit([set("a/1"), set("a/2"), set("a/3", "1", { expires: PAST }), set("b/1")]);
    t.equal(await store.count("a/", "a0"), 2);
    t.equal(await store.count("c/", "c0"), 0);
  },
  "returns the keys of a range in order": async (t, store) => {
    const keys = ["%", "0001", "0010", "_", "a:b", "é", "\u{1f600}"];
    await store.commit([...keys.toReversed().map((key) => set(key)), set("old", "1", { expires: PAST })]);
    t.same(await store.keys("", "\u{10ffff}"), keys);
    t.same(await store.keys("0001", "_"), ["0001", "0010"]);
    t.same(await store.keys("b", "c"), []);
  },
  "returns the size of its entries": async (t, store) => {
    const before = await store.size();
    for (let index = 0; index < 20; index++) await store.commit([set(`${index}`, randomBytes(10_000).toString("hex"))]);
    const grown = (await store.size()) - before;
    t.ok(grown >= 100_000 && grown < 4_000_000, `${grown}`);
  },
  "returns the time of its server's clock, if it has a server": async (t, store) => {
    const time = await store.time();
    if (store.mayBeStale) t.ok(Math.abs(time! - Date.now()) < 60_000, `${time}`);
    else t.equal(time, undefined);
  },
  "makes a commit that need not be durable visible to others at once": async (t, store, openAgain) => {
    const other = await openAgain();
    for (const text of ["1", "2", "3"]) {
      t.match(await store.commit([set("key", text)], { durable: false }), { committed: true });
      t.equal(await value(other, "key"), text);
    }
  },
  "returns what each write of a commit has changed": async (t, store) => {
    await store.commit([set("a", "old")]);
    const result = await store.commit([set("a", "new"), set("b", "b"), add("n", 5), { kind: "delete", key: "a" }]);
    const changes = [
      { before: "old", after: "new" },
      { before: undefined, after: "b" },
      { before: undefined, after: "5" },
      { before: "new", after: undefined },
    ];
    t.same(result, { committed: true, changes });
  },
  "makes all writes of a commit or none, and returns which one failed": async (t, store) => {
    await store.commit([set("a", "old"), set("n", "5")]);
    const version = (await store.get(["a"]))[0]?.version ?? "";
    const failing: readonly StoredWrite[] = [
      set("a", "new", { condition: "absent" }),
      set("absent", "new", { condition: "present" }),
      set("absent", "new", { condition: { version } }),
      set("a", "new", { condition: { version: `${version}x` } }),
      set("a", "new", { condition: { value: "old " } }),
      { kind: "delete", key: "absent", condition: { value: "" } },
      { kind: "delete", key: "absent", condition: "present" },
      { kind: "check", key: "a", condition: "absent" },
      add("n", -6, { min: 0 }),
      add("n", 6, { max: 10 }),
      add("n", Number.MAX_SAFE_INTEGER),
    ];
    for (const write of failing) {
      const result = await store.commit([set("b"), write]);
      t.same(result, { committed: false, failed: 1 }, JSON.stringify(write));
    }
    t.same(await keysOf(store), ["a", "n"]);
    t.equal(await value(store, "a"), "old");
    t.match(await store.commit([set("b"), set("a", "new", { condition: { version } })]), { committed: true });
    t.match(await store.commit([set("a", "newer", { condition: { value: "new" } })]), { committed: true });
  },
  "lets each write of a commit see the earlier ones": async (t, store) => {
    const result = await store.commit([set("n", "1"), add("n"), set("n", "9", { condition: "absent" })]);
    t.same(result, { committed: false, failed: 2 });
    const writes: StoredWrite[] = [
      add("n"),
      add("n"),
      { kind: "delete", key: "n" },
      set("n", "9", { condition: "absent" }),
    ];
    t.match(await store.commit(writes), { committed: true });
    t.equal(await value(store, "n"), "9");
  },
  "increments only whole numbers": async (t, store) => {
    await store.commit([set("text", '"1"'), set("half", "0.5"), set("n", "-3")]);
    for (const key of ["text", "half"]) {
      await t.rejects(store.commit([set("other"), add(key)]), { code: Code.FAILED_PRECONDITION });
    }
    t.equal(await value(store, "other"), undefined);
    await store.commit([add("n", 4)]);
    t.equal(await value(store, "n"), "1");
  },
  "treats expired entries as absent, in every operation": async (t, store) => {
    const expired = set("key", "7", { expires: PAST });
    const absent: Record<string, () => Promise<unknown>> = {
      get: async () => (await store.get(["key"]))[0] === undefined,
      range: async () => (await keysOf(store)).length === 0,
      count: async () => (await store.count("", "z")) === 0,
      absent: async () => (await store.commit([set("key", "8", { condition: "absent" })])).committed,
      present: async () => !(await store.commit([set("key", "8", { condition: "present" })])).committed,
      increment: async () => (await store.commit([add("key")])).committed && (await value(store, "key")) === "1",
      delete: async () => {
        const result = await store.commit([{ kind: "delete", key: "key" }]);
        return result.committed && result.changes[0]?.before === undefined;
      },
    };
    for (const [operation, isAbsent] of Object.entries(absent)) {
      await store.commit([expired]);
      t.equal(await isAbsent(), true, operation);
      await store.commit([{ kind: "delete", key: "key" }]);
    }
    await store.commit([set("key", "7", { expires: LATER })]);
    t.equal(await value(store, "key"), "7");
    t.match((await store.get(["key"]))[0], { expires: LATER });
  },
  "keeps the expiry of an entry that is incremented, and removes it when the entry is set again": async (t, store) => {
    await store.commit([set("key", "7", { expires: LATER })]);
    await store.commit([add("key")]);
    t.match((await store.get(["key"]))[0], { value: "8", expires: LATER });
    await store.commit([set("key", "7")]);
    t.match((await store.get(["key"]))[0], { value: "7", expires: undefined });
  },
  "removes expired entries, and nothing else": async (t, store, openAgain) => {
    const many = Array.from({ length: 1200 }, (_, index) => set(`expired ${index}`, "1", { expires: PAST }));
    await store.commit(many);
    await store.commit([set("kept"), set("kept later", "1", { expires: LATER })]);
    await store.sweep();
    t.same(await keysOf(await openAgain()), ["kept", "kept later"]);
  },
  [`loses no increment of ${RACERS} that race, in whichever process they are`]: async (t, store, openAgain) => {
    const stores = [store, await openAgain(), await openAgain()];
    await Promise.all(Array.from({ length: RACERS }, (_, racer) => stores[racer % 3]?.commit([add("n")])));
    for (const each of stores) t.equal(await value(each, "n"), `${RACERS}`);
  },
  [`lets one of ${RACERS} that race win a key or a version`]: async (t, store, openAgain) => {
    const stores = [store, await openAgain()];
    const race = async (condition: StoredWrite["condition"]) => {
      const racers = Array.from({ length: RACERS }, (_, racer) =>
        (stores[racer % 2] as KeyValueStore).commit([set("key", `${racer}`, { condition })]),
      );
      const winners = (await Promise.all(racers)).flatMap((result, racer) => (result.committed ? [racer] : []));
      t.equal(winners.length, 1);
      t.equal(await value(store, "key"), `${winners[0]}`);
    };
    await race("absent");
    await race({ version: (await store.get(["key"]))[0]?.version ?? "" });
    await store.commit([set("key", "before")]);
    await race({ value: "before" });
  },
  "belongs to no installation until one claims it, and then to that one for ever": async (t, store, openAgain) => {
    t.equal(await store.owner(), undefined);
    t.equal(await store.claim("a"), "a");
    const other = await openAgain();
    t.equal(await other.claim("b"), "a");
    t.equal(await other.claim("b", { withEntries: true }), "a");
    t.equal(await other.claim("a"), "a");
    t.equal(await other.owner(), "a");
  },
  "is not claimed if it has entries, unless that is requested": async (t, store, openAgain) => {
    await store.commit([set("key")]);
    t.equal(await store.claim("a"), undefined);
    t.equal(await store.owner(), undefined);
    const other = await openAgain();
    t.equal(await other.claim("b", { withEntries: true }), "b");
    t.equal(await store.owner(), "b");
    t.equal(await value(store, "key"), "1", "its entries stay");
  },
  "is claimed by one of several installations that race": async (t, store, openAgain) => {
    const others = await Promise.all([openAgain(), openAgain(), openAgain()]);
    await store.commit([set("key")]);
    const owners = await Promise.all(
      [store, ...others].map((one, index) => one.claim(`installation ${index}`, { withEntries: true })),
    );
    t.match(owners[0], /^installation [0-3]$/);
    t.same([...new Set(owners)], [await store.owner()], "all are told the same");
  },
  "makes all writes of a commit visible to other processes at one moment": async (t, store, openAgain) => {
    const other = await openAgain();
    let writing = true;
    const write = async (): Promise<void> => {
      for (let round = 0; round < 40; round++) await store.commit([set("a", `${round}`), set("b", `${round}`)]);
      writing = false;
    };
    const torn: unknown[] = [];
    const read = async (): Promise<void> => {
      while (writing) {
        const [a, b] = await other.get(["a", "b"]);
        if (a?.value !== b?.value) torn.push([a, b]);
        const { entries } = await other.range({ from: "a", to: "c", limit: 2 });
        if (entries[0]?.value !== entries[1]?.value) torn.push(entries);
      }
    };
    await Promise.all([write(), read()]);
    t.same(torn, []);
  },
  "appends the changes of a commit to their logs, in order": async (t, store) => {
    await store.commit([set("a", "old"), set("log", "7")]);
    const log = "log";
    const writes: StoredWrite[] = [
      set("a", '{\n"new"', { log }),
      set("b\n", "", { log }),
      add("n", 5, { log }),
      { kind: "check", key: "a", log },
      { kind: "delete", key: "absent", log },
      { kind: "delete", key: "a", log },
      set("c"),
      set("other", "1", { log: "other log" }),
    ];
    const result = await store.commit(writes);
    const revisions = result.committed ? result.changes.map(({ revision }) => revision) : [];
    t.same(revisions, [8, 9, 10, undefined, undefined, 11, undefined, undefined]);
    const { texts, ...rest } = await logged(store, log);
    t.same(texts, ['a={\n"new"', "b\n=", "n=5", "a="]);
    t.same(rest, { revisions: [8, 9, 10, 11], last: "11" });
    const [{ expires = 0 } = {}] = (await store.range({ from: "log/", to: "log0", limit: 1 })).entries;
    t.ok(Math.abs(expires - Date.now() - CHANGE_TTL_MS) < 60_000, "a change expires after a day");
  },
  "appends nothing if the log is absent or the commit fails": async (t, store) => {
    await store.commit([set("a", "1", { log: "log" })]);
    await store.commit([set("log", "0")]);
    await store.commit([set("a", "2", { log: "log" }), set("a", "3", { condition: "absent" })]);
    t.same(await logged(store, "log"), { texts: [], revisions: [], last: "0" });
  },
  [`drops the changes before the last ${MAX_CHANGES} of a log`]: async (t, store) => {
    await store.commit([set("log", "0")]);
    const many = Array.from({ length: MAX_CHANGES }, () => set("a", "1", { log: "log" }));
    await store.commit(many);
    await store.commit([set("a", "2", { log: "log" }), set("a", "3", { log: "log" })]);
    t.equal(await store.count("log/", "log0"), MAX_CHANGES);
    const { entries } = await store.range({ from: "log/", to: "log0", limit: 1 });
    t.same(entries.map(revisionOf), [3]);
  },
  [`gives ${RACERS} changes that race one order, without gaps`]: async (t, store, openAgain) => {
    await store.commit([set("log", "0")]);
    const stores = [store, await openAgain(), await openAgain()];
    const results = await Promise.all(
      Array.from({ length: RACERS }, (_, racer) => stores[racer % 3]!.commit([set(`${racer}`, "1", { log: "log" })])),
    );
    const { texts, revisions } = await logged(store, "log");
    t.same(
      revisions,
      Array.from({ length: RACERS }, (_, index) => index + 1),
    );
    for (const [racer, result] of results.entries()) {
      const revision = result.committed ? (result.changes[0]?.revision ?? 0) : 0;
      t.equal(texts[revision - 1], `${racer}=1`);
    }
  },
  "counts the bytes of a range, and refuses a commit that would exceed the maximum": async (t, store) => {
    const usage = (max = 20): StoredWrite => ({ kind: "usage", key: "usage", from: "a/", to: "a/~", max });
    await store.commit([
      set("a/1", "12345"),
      set("a/x", "üb", { expires: PAST }),
      set("b/1"),
      set("a/~", "not counted"),
    ]);
    const used = async (...writes: StoredWrite[]) => {
      const result = await store.commit([...writes, usage()]);
      return result.committed ? Number(await value(store, "usage")) : `fails at ${result.failed}`;
    };
    // Two keys of 3 bytes, two values of 5 and 3, and what is written.
    t.equal(await used(set("a/2")), 14 + 4);
    t.equal(await used(set("a/2", "123")), 20);
    t.equal(await used(set("a/2", "1234")), "fails at 1");
    t.equal(await used(set("a/3"), { kind: "delete", key: "a/2" }), 18, "a commit counts as a whole");
    t.equal(await used({ kind: "delete", key: "absent" }, { kind: "check", key: "a/1" }), 18);
    t.equal(await used(add("a/3", 9)), 19, "an increment by its digits");
    t.equal(await used(set("a/x", "12345")), "fails at 1");
    t.equal(await used(set("a/x", "1")), 17, "an expired entry is replaced");
    t.match(
      await store.commit([{ kind: "delete", key: "a/1" }, usage(1)]),
      { committed: true },
      "it may always shrink",
    );
    t.equal(await value(store, "usage"), "9");
    await store.commit([{ kind: "delete", key: "usage" }]);
    t.equal(await used(set("a/1")), 13, "after its deletion everything is counted again");
    await store.commit([{ kind: "delete", key: "a/1" }]);
    const recounts = [add("a/3"), { ...usage(), recount: true } as StoredWrite];
    const both = [store.commit([set("a/4"), usage()]), store.commit(recounts)];
    for (const result of await Promise.all(both)) t.equal(result.committed, true);
    t.equal(await value(store, "usage"), "13", "a recount finds what was deleted, beside other commits");
  },
  [`counts the bytes of ${RACERS} writes that race exactly, and never exceeds the maximum`]: async (
    t,
    store,
    openAgain,
  ) => {
    const stores = [store, await openAgain(), await openAgain()];
    const usage: StoredWrite = { kind: "usage", key: "usage", from: "a/", to: "a/~", max: 200 };
    const results = await Promise.all(
      Array.from({ length: RACERS }, (_, racer) =>
        stores[racer % 3]!.commit([set(`a/${racer + 10}`, "123456"), usage]),
      ),
    );
    t.equal(results.filter(({ committed }) => committed).length, 20);
    t.equal(await value(store, "usage"), "200");
    t.equal(await store.count("a/", "a/~"), 20);
  },
  "does not let a failed commit affect other commits": async (t, store) => {
    await store.commit([set("text", '"1"')]);
    const results = await Promise.allSettled([
      store.commit([add("n")]),
      store.commit([add("text")]),
      store.commit([set("n", "0", { condition: "absent" })]),
      store.commit([add("n")]),
    ]);
    t.same(
      results.map((result) => (result.status === "fulfilled" ? (result.value as CommitResult).committed : "rejected")),
      [true, "rejected", false, true],
    );
    t.equal(await value(store, "n"), "2");
  },
};

/** Runs the suite on an engine. */
export function storeContract(t: Test, engine: Engine): void {
  checkOn(t, engine, BEHAVIOURS);
}
