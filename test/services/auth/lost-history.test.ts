/** An authority whose store has lost known changes applies and makes no changes, and reports it. */

import t, { type Test } from "tap";
import { type Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code } from "../../../src/errors.js";
import { collectionOf } from "../../../src/store/collection.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { FaultyStore } from "./faulty-store.js";
import { openJournal } from "./open.js";

const keyOf = (revision: number): string => String(revision).padStart(16, "0");
const create = (journal: Journal, name: string): Promise<number> =>
  journal.commit(PORTICO, () => [{ $case: "namespaceCreated", value: { name } }]);

async function history(names: readonly string[]): Promise<{ store: KeyValueStore; journal: Journal }> {
  const store = openMemoryStore();
  const journal = await openJournal(store);
  for (const name of names) await create(journal, name);
  return { store, journal };
}

/** Replaces the log of a store by another log, as a failover or a restored backup does. */
async function becomes(store: KeyValueStore, other: KeyValueStore): Promise<void> {
  const [log, wanted] = [collectionOf(store, "log"), await collectionOf(other, "log").after("", 100)];
  await log.delete(await log.keys());
  for (const [key, value] of wanted) await log.create(key, value);
}

const LOST = {
  code: Code.UNAVAILABLE,
  message: /has lost changes: it does not hold revision 3 as this authority knows it/,
};

const CASES: Record<string, readonly string[]> = {
  "a log that ends before the authority's revision": ["a", "b"],
  "an empty log": [],
  "a log with another entry for the authority's revision": ["a", "b", "other"],
  "a log with another entry for the authority's revision, and later entries": ["a", "b", "other", "more"],
};

async function known(t: Test): Promise<{ store: KeyValueStore; journal: Journal; names: () => string[] }> {
  const { store, journal } = await history(["a", "b", "c"]);
  t.teardown(() => store.close());
  return { store, journal, names: () => [...journal.state.namespaces.keys()] };
}

for (const [what, names] of Object.entries(CASES)) {
  t.test(what, async (t) => {
    await t.test("is not applied", async (t) => {
      const { store, journal, names: held } = await known(t);
      await becomes(store, (await history(names)).store);
      await t.rejects(journal.sync(), LOST);
      t.same(held(), ["a", "b", "c"]);
    });
    await t.test("gets no new entries", async (t) => {
      const { store, journal } = await known(t);
      await becomes(store, (await history(names)).store);
      const before = await collectionOf(store, "log").after("", 100);
      await t.rejects(create(journal, "d"), LOST);
      t.same(await collectionOf(store, "log").after("", 100), before);
    });
  });
}

t.test("a log whose entry for the authority's revision changes during the reading is not applied", async (t) => {
  const { store: inner, journal: writer } = await history(["a", "b", "c"]);
  t.teardown(() => inner.close());
  const store = new FaultyStore(inner);
  const journal = await openJournal(store);
  await collectionOf(inner, "log").delete([keyOf(3)]);
  const other = (await history(["a", "b", "other", "more"])).store;
  let readings = 0;
  store.onStep = async (step) => {
    if (step === "after range log" && ++readings === 1) await becomes(inner, other);
  };
  await t.rejects(journal.sync(), LOST);
  t.ok(readings > 1, "what has no entry of its revision is read from the beginning");
  t.same([...journal.state.namespaces.keys()], ["a", "b", "c"]);
  t.ok(journal.has(3, writer.checksum));
});

t.test("an authority continues once the store has its history again", async (t) => {
  const { store, journal, names } = await known(t);
  const [[key, text] = ["", ""]] = await collectionOf(store, "log").after(keyOf(2), 1);
  await collectionOf(store, "log").delete([key]);
  await t.rejects(journal.sync(), LOST);
  await collectionOf(store, "log").create(key, text);
  await create(journal, "d");
  t.same(names(), ["a", "b", "c", "d"]);
});

t.test("an authority that starts accepts what the store has", async (t) => {
  const { store } = await known(t);
  await collectionOf(store, "log").delete([keyOf(3)]);
  const restarted = await openJournal(store);
  t.same([...restarted.state.namespaces.keys()], ["a", "b"]);
});

t.test("an authority remembers which entries it has applied, by their checksums", async (t) => {
  const { journal } = await known(t);
  const { journal: other } = await history(["a", "b", "other"]);
  t.ok(journal.has(3, journal.checksum));
  t.notOk(journal.has(3, other.checksum));
  t.notOk(journal.has(4, journal.checksum));
});
