/** The log and its snapshots: damage is noticed, and an authority that fell behind catches up. */

import t, { type Test } from "tap";
import {
  ChangeLog,
  MIN_SNAPSHOT_INTERVAL as SNAPSHOT_INTERVAL,
} from "../../../services/auth/log/changelog/change-log.js";
import type { Decide } from "../../../services/auth/log/changelog/decide.js";
import { type Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code } from "../../../src/errors.js";
import { collectionOf } from "../../../src/store/collection.js";
import { type KeyValueStore, MAX_TOTAL_BYTES, REMEDY } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { openJournal, silent } from "./open.js";

const DAMAGED = `store in memory cannot be used: entry 3 of its log is damaged; ${REMEDY}`;
const MISSING = `store in memory cannot be used: entry 3 of its log is missing; ${REMEDY}`;
const keyOf = (revision: number) => String(revision).padStart(16, "0");
const namespace =
  (name: string): Decide =>
  ({ namespaces }) =>
    namespaces.has(name) ? [] : [{ $case: "namespaceCreated", value: { name } }];
/** A divisor of the interval between snapshots. */
const GROUP = 100;
const touch: Decide = () => [{ $case: "keysUsed", value: { uses: [] } }];

/** The store of a closed journal with this number of revisions. */
async function filled(t: Test, revisions: number): Promise<KeyValueStore> {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  await journal.commit(PORTICO, namespace("default"));
  await advance(journal, revisions - 1);
  await journal.close();
  return store;
}

/** Changes that wait together are written together. No group crosses the revision of a snapshot. */
async function advance(journal: Journal, revisions: number): Promise<void> {
  for (let left = revisions; left > 0; ) {
    const group = Math.min(left, GROUP - (journal.state.revision % GROUP));
    await Promise.all(Array.from({ length: group }, () => journal.commit(PORTICO, touch)));
    left -= group;
  }
}

/** The keys of the rows that complete snapshots. */
async function completeSnapshots(store: KeyValueStore): Promise<string[]> {
  return (await collectionOf(store, "snapshots").keys()).filter((key) => !key.includes("/"));
}

/** Replaces the text of an existing key. */
async function replace(store: KeyValueStore, name: "log" | "snapshots", key: string, text: string): Promise<void> {
  await collectionOf(store, name).delete([key]);
  await collectionOf(store, name).create(key, text);
}

t.test("a damaged log is refused, and the error names the revision", async (t) => {
  const faults: Record<string, [fault: (store: KeyValueStore) => Promise<unknown>, message: string]> = {
    "a changed entry": [
      async (store) => {
        const text = (await collectionOf(store, "log").get(keyOf(3))) ?? "";
        await replace(
          store,
          "log",
          keyOf(3),
          text.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
        );
      },
      DAMAGED,
    ],
    "an entry of another revision": [
      async (store) => replace(store, "log", keyOf(3), (await collectionOf(store, "log").get(keyOf(2))) ?? ""),
      DAMAGED,
    ],
    "an entry cut off": [
      async (store) => replace(store, "log", keyOf(3), (await collectionOf(store, "log").get(keyOf(3)))!.slice(0, 20)),
      DAMAGED,
    ],
    "an entry missing": [(store) => collectionOf(store, "log").delete([keyOf(3)]), MISSING],
    "many entries missing": [
      (store) => collectionOf(store, "log").delete(Array.from({ length: 600 }, (_, index) => keyOf(index + 3))),
      MISSING,
    ],
    "the first entry missing": [
      (store) => collectionOf(store, "log").delete([keyOf(1)]),
      `store in memory has lost the beginning of its log, or its snapshots; ${REMEDY}`,
    ],
  };
  for (const [what, [error, message]] of Object.entries(faults)) {
    await t.test(what, async (t) => {
      const store = await filled(t, 700);
      await error(store);
      await t.rejects(openJournal(store), { name: "StoreError", message });
    });
  }
});

t.test("an entry of a newer version is refused, not skipped", async (t) => {
  const store = await filled(t, 1);
  const unknown = { event: undefined, _unknownFields: { [(99 << 3) | 2]: [Buffer.from([0])] } };
  const entry = { time: undefined, actor: "", namespace: "", events: [unknown] };
  const log = new ChangeLog({ store, log: silent });
  await log.append(2, [entry], (await log.read(1))?.text, []);
  await t.rejects(openJournal(store), { message: /: entry 2 of its log was written by a newer Portico/ });
});

t.test("a log with more data than a page of the store is read to its end", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  const follower = await openJournal(store);
  const names = Array.from({ length: 12 }, (_, index) => `${index}`.padEnd(MAX_TOTAL_BYTES / 8, "x"));
  for (const name of names) await journal.commit(PORTICO, namespace(name));
  await follower.sync();
  for (const { state } of [follower, await openJournal(store)]) t.same([...state.namespaces.keys()], names);
});

t.test("an entry larger than a page of the store is read, after another one and after none", async (t) => {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const journal = await openJournal(store);
  const names = ["a", "b", "c"].map((letter) => letter.repeat(MAX_TOTAL_BYTES));
  for (const name of names) await journal.commit(PORTICO, namespace(name));
  const log = new ChangeLog({ store, log: silent });
  const counts = [0, 1, 2, 3].map(async (after) => (await log.read(after))?.entries.length);
  // A page without entries, although more follow, would be read again for ever.
  t.same(await Promise.all(counts), [2, 1, 1, 0]);
});

t.test("snapshots", async (t) => {
  const revisions = 3 * SNAPSHOT_INTERVAL + 10;
  const oldest = 2 * SNAPSHOT_INTERVAL;
  await t.test("there are two snapshots, and the log begins at the older one", async (t) => {
    const store = await filled(t, revisions);
    t.same(await completeSnapshots(store), [keyOf(oldest), keyOf(3 * SNAPSHOT_INTERVAL)]);
    const rows = await collectionOf(store, "snapshots").keys();
    t.same(
      rows.map((key) => key.split("/")[0]),
      [oldest, 3 * SNAPSHOT_INTERVAL].flatMap((revision) => Array(3).fill(keyOf(revision))),
      "each with the rows of its attempt",
    );
    const entries = await collectionOf(store, "log").keys();
    t.equal(entries[0], keyOf(oldest));
    t.equal(entries.length, revisions - oldest + 1);
    const { state } = await openJournal(store);
    t.equal(state.revision, revisions);
    t.same([...state.namespaces.keys()], ["default"]);
  });

  await t.test("a start uses the older snapshot if the newest is damaged", async (t) => {
    const store = await filled(t, revisions);
    await replace(store, "snapshots", keyOf(3 * SNAPSHOT_INTERVAL), "damaged");
    const { state } = await openJournal(store);
    t.equal(state.revision, revisions);
    t.same([...state.namespaces.keys()], ["default"]);
  });

  await t.test("a start fails if all snapshots are damaged", async (t) => {
    const store = await filled(t, revisions);
    for (const key of await completeSnapshots(store)) await replace(store, "snapshots", key, "damaged");
    await t.rejects(openJournal(store), { name: "StoreError", message: / has lost the beginning/ });
  });

  await t.test("a start fails if the log after the snapshots is missing", async (t) => {
    const store = await filled(t, revisions);
    await collectionOf(store, "log").delete(await collectionOf(store, "log").keys());
    await t.rejects(openJournal(store), { name: "StoreError", message: / entry 3000 of its log is missing/ });
  });
});

t.test("an authority that missed deleted entries catches up", async (t) => {
  const cases: Record<string, (behind: Journal) => Promise<unknown>> = {
    "when it reads the log": (behind) => behind.sync(),
    "when it makes a change": (behind) => behind.commit(PORTICO, namespace("late")),
  };
  for (const [what, act] of Object.entries(cases)) {
    await t.test(what, async (t) => {
      const store = openMemoryStore();
      t.teardown(() => store.close());
      const ahead = await openJournal(store);
      await ahead.commit(PORTICO, namespace("default"));
      await advance(ahead, 4);
      const behind = await openJournal(store);
      let replaced = 0;
      behind.follow({ changed: () => undefined, replaced: () => replaced++ });
      await ahead.commit(PORTICO, namespace("early"));
      await advance(ahead, 3 * SNAPSHOT_INTERVAL);
      await ahead.close();

      await act(behind);
      await ahead.sync();
      t.equal(replaced, 1);
      t.equal(behind.state.revision, ahead.state.revision);
      t.same([...behind.state.namespaces.keys()], [...ahead.state.namespaces.keys()]);
      t.ok(behind.state.namespaces.has("early"));
      t.notOk((await collectionOf(store, "log").keys()).includes(keyOf(6)), "no revision is made anew");
      await behind.close();
    });
  }

  await t.test("but cannot set up the store again", async (t) => {
    const store = openMemoryStore();
    t.teardown(() => store.close());
    const late = await openJournal(store);
    const ahead = await openJournal(store);
    await ahead.commit(PORTICO, namespace("default"));
    await advance(ahead, 3 * SNAPSHOT_INTERVAL);
    await ahead.close();
    await late.commit(PORTICO, (state) => (state.revision === 0 ? namespace("again")(state, 0) : []));
    t.same([...late.state.namespaces.keys()], ["default"]);
    t.notOk((await collectionOf(store, "log").keys()).includes(keyOf(1)));
  });
});

t.test("at most 1,000 changes wait for their turn", async (t) => {
  const journal = await openJournal(await filled(t, 1));
  const waiting = Array.from({ length: 1_000 }, () => journal.commit(PORTICO, () => []));
  await t.rejects(journal.commit(PORTICO, touch), {
    code: Code.UNAVAILABLE,
    message: "Too many changes at once; try again",
  });
  await Promise.all(waiting);
  t.equal(await journal.commit(PORTICO, touch), 2, "then another change may wait");
});
