/** The rows from which an authority knows the newest time of earlier authorities. */

import { mock } from "node:test";
import pino from "pino";
import t from "tap";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { AuthorityClock } from "../../../services/auth/log/time/clock.js";
import { StoredTime } from "../../../services/auth/log/time/stored-time.js";
import { type Collection, collectionOf } from "../../../src/store/collection.js";
import { StoreError } from "../../../src/store/store.js";
import { replaceClock } from "../../support/clock.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { openJournal, silent } from "./open.js";

const NOW = Date.UTC(2026, 10, 22);
const MINUTE = 60_000;

async function machine(change: (rows: Collection) => Collection = (rows) => rows) {
  const store = openMemoryStore();
  const time = { now: NOW };
  const now = () => time.now;
  const rows = change(collectionOf(store, "time"));
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line).msg) });
  const authority = async () => {
    const journal = await openJournal(store, now, log);
    const clock = new AuthorityClock({ clocks: { wall: now, elapsed: now }, log: silent });
    clock.start({ stored: undefined, accept: false });
    return { journal, clock, stored: new StoredTime({ rows, store, journal, clock }) };
  };
  return { time, rows, logged, authority };
}

const namespace = (name: string) => [{ $case: "namespaceCreated" as const, value: { name } }];

t.test("a new store has no time", async (t) => {
  const { authority } = await machine();
  t.equal(await (await authority()).stored.read(), undefined);
});

t.test("a store without rows has the time of its last log entry", async (t) => {
  const { authority, time } = await machine();
  const { journal } = await authority();
  await journal.commit(PORTICO, () => namespace("one"));
  time.now += MINUTE;
  await journal.commit(PORTICO, () => namespace("two"));
  t.equal(await (await authority()).stored.read(), NOW + MINUTE);
});

t.test("a row replaces the times of earlier entries, not of later ones", async (t) => {
  const { authority, time } = await machine();
  const { journal, stored } = await authority();
  time.now = NOW + 5 * MINUTE;
  await journal.commit(PORTICO, () => namespace("one"));
  const earlier = new StoredTime({
    rows: (await machine()).rows,
    store: openMemoryStore(),
    journal,
    clock: { now: () => NOW, atLeast: () => undefined },
  });
  await earlier.write();
  t.equal(await earlier.read(), NOW, "the row's time is accepted, and earlier than the entry's");
  await stored.write();
  time.now = NOW + 6 * MINUTE;
  await journal.commit(PORTICO, () => namespace("two"));
  t.equal(await (await authority()).stored.read(), NOW + 6 * MINUTE);
});

t.test("there is one row, however often and by how many authorities it is written", async (t) => {
  const { authority, time, rows } = await machine();
  const [one, other] = [await authority(), await authority()];
  for (let round = 0; round < 3; round++) {
    time.now += MINUTE;
    await one.stored.write();
    await other.stored.write();
  }
  await Promise.all([one.stored.write(), other.stored.write()]);
  await one.stored.write();
  t.equal((await rows.keys()).length, 1);
  t.equal(await one.stored.read(), NOW + 3 * MINUTE);
});

t.test("an authority that writes takes over the later time of another authority", async (t) => {
  const { authority, rows } = await machine();
  const { stored, clock } = await authority();
  await rows.create("1", `${NOW + MINUTE} 0`);
  await stored.read();
  await stored.write();
  t.equal(clock.now(), NOW, "a row that was there at the start was checked then");
  await rows.create("9", `${NOW + MINUTE} 0`);
  await stored.write();
  t.equal(clock.now(), NOW + MINUTE);
});

t.test("a row that cannot be read is ignored", async (t) => {
  const { authority, rows } = await machine();
  await rows.create("1", `${NOW} 0`);
  await rows.create("2", "tomorrow");
  const { stored } = await authority();
  t.equal(await stored.read(), NOW);
  await stored.write();
  t.same(await rows.keys(), ["0000000000000003"]);
});

t.test("a failed write is logged once, until a write succeeds", async (t) => {
  let full = false;
  const { authority, logged } = await machine((rows) => ({
    ...rows,
    create: async (...row) => {
      if (full) throw new StoreError("store x cannot grow");
      return rows.create(...row);
    },
  }));
  const { stored } = await authority();
  const counts: number[] = [];
  for (full of [true, true, false, true]) {
    await stored.write();
    counts.push(logged.length);
  }
  t.same(counts, [1, 1, 2, 3], "and once that it can be written again");
});

t.test("a row is written each minute, and tried every five seconds while the store refuses writes", async (t) => {
  let failing = false;
  let writes = 0;
  const { authority } = await machine((rows) => ({
    ...rows,
    create: async (...row) => {
      writes++;
      if (failing) throw new StoreError("store x cannot grow", { reason: "disk_full" });
      return rows.create(...row);
    },
  }));
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  let uptime = 0;
  replaceClock(t, performance, () => uptime);
  const { stored, journal } = await authority();
  /** How many writes are made or tried in `ms`. */
  const tried = async (ms: number): Promise<number> => {
    const before = writes;
    for (const end = uptime + ms; uptime < end; ) {
      uptime += 1_000;
      mock.timers.tick(1_000);
      // Each write takes a few turns of the event loop.
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    }
    return writes - before;
  };
  stored.open();
  t.equal(await tried(MINUTE - 1_000), 1, "one at the start");
  t.equal(await tried(2 * MINUTE), 2);
  failing = true;
  await tried(MINUTE); // The next row is due in this minute.
  t.equal(await tried(MINUTE), 12, "while it fails");
  failing = false;
  await tried(5_000);
  t.equal(journal.refusals.error, undefined, "it is noticed within five seconds");
  t.equal(await tried(MINUTE), 1);
  journal.refusals.failed(new StoreError("store x cannot grow", { reason: "disk_full" }));
  t.equal(await tried(5_000), 1, "after a change was refused, too");
  t.equal(journal.refusals.error, undefined);
  await stored.close();
});
