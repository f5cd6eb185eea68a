/** What callers, operators and metrics get when changes are refused because of the store. */

import pino from "pino";
import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { Code } from "../../../src/errors.js";
import { type KeyValueStore, StoreError } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { openJournal } from "./open.js";

/** A journal whose store refuses writes while `failure` is set. */
async function open() {
  const state: { failure?: StoreError | undefined } = {};
  const store = openMemoryStore();
  const failing: KeyValueStore = {
    ...store,
    commit: async (writes) => {
      if (state.failure !== undefined) throw state.failure;
      return store.commit(writes);
    },
  };
  const logged: { level: number; msg: string; err?: { message: string } }[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const journal = await openJournal(failing, Date.now, log);
  let count = 0;
  const change = () => journal.commit(PORTICO, () => [{ $case: "namespaceCreated", value: { name: `n${count++}` } }]);
  return { state, journal, logged, change };
}

const CASES = [
  {
    reason: "disk_full" as const,
    response: /changes nothing while the disk of its store is full/,
    fault: /Make room on it/,
  },
  { reason: "read_only" as const, response: /changes nothing while its store is read-only/, fault: /Make it writable/ },
  { reason: undefined, response: /store does not respond; try again/, fault: /The log says why/ },
];

for (const { reason, response, fault } of CASES) {
  t.test(`changes are refused when the store fails with ${reason ?? "something else"}`, async (t) => {
    const { state, journal, logged, change } = await open();
    await change();
    t.equal(journal.refusals.error, undefined);
    state.failure = new StoreError("store /secret/path cannot grow", { reason });
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await change().then(
        () => t.fail("it was refused"),
        (error) => error,
      );
      t.match(error, { code: Code.UNAVAILABLE, message: response });
      t.notMatch(error.message, /secret/, "callers get no path");
    }
    t.match(journal.refusals.error, fault);
    t.notMatch(journal.refusals.error, /secret/);
    t.same(
      [...journal.refusals.counts].filter(([, count]) => count > 0),
      [[reason ?? "store", 2]],
    );
    state.failure = undefined;
    await change();
    t.equal(journal.refusals.error, undefined, "until it takes one");
    t.match(logged, [
      { msg: /the store takes no changes: they are refused/, err: { message: /secret/ } },
      { msg: "the store takes changes again" },
    ]);
    t.equal(logged.length, 2, "each is logged once");
  });
}
