/** Lease records on a shared store: renewals, reports, and when a change need not wait. */

import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import t, { type Test } from "tap";
import { type Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { leaseSpan } from "../../../services/auth/log/leases/lease-records.js";
import { SharedLeaseRecords } from "../../../services/auth/log/leases/shared-lease-records.js";
import { type Collection, collectionOf } from "../../../src/store/collection.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { leaseRecordsContract, timeOf } from "../../contract/lease-records.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { until } from "../../support/until.js";
import { openJournal, silent } from "./open.js";

/** So long that it does not end by chance on a busy computer. */
const LONG = 30_000;
const MIDDLE = 1_000;
const SHORT = 40;
/** How early timers may fire, in milliseconds. */
const EARLY = 2;

interface Authority {
  readonly leaseRecords: SharedLeaseRecords;
  readonly journal: Journal;
}

interface Options {
  readonly lacking?: Record<string, string[]>;
  readonly log?: typeof silent;
  readonly name?: string;
  readonly faults?: Partial<Collection>;
  readonly follow?: KeyValueStore["follow"];
  readonly times?: number[];
}

async function open(store: KeyValueStore, leaseMs: number, options: Options = {}): Promise<Authority> {
  const { log = silent, name = "a", faults = {}, follow = store.follow, times = [], lacking = {} } = options;
  const journal = await openJournal(store);
  const atLeast = (time: number) => void times.push(time);
  const clock = { now: Date.now, wall: Date.now(), atLeast, compare: () => undefined };
  const seen = { follow, time: store.time };
  const rows = { ...collectionOf(store, "grantors"), ...faults };
  const now = () => performance.now();
  const leaseRecords = new SharedLeaseRecords({
    store: seen,
    rows,
    journal,
    clock,
    name,
    log,
    now,
    leaseMs,
    lacking: () => lacking,
  });
  await leaseRecords.open();
  return { leaseRecords, journal };
}

function openShared(t: Test): { store: KeyValueStore; rows: Collection } {
  const store = openMemoryStore({ mayBeStale: true });
  t.teardown(() => store.close());
  return { store, rows: collectionOf(store, "grantors") };
}

const change = (journal: Journal, name = "x"): Promise<number> =>
  journal.commit(PORTICO, () => [{ $case: "namespaceCreated", value: { name } }]);

async function report({ leaseRecords, journal }: Authority): Promise<void> {
  await journal.sync();
  await leaseRecords.report(journal.state.revision, journal.checksum);
}

const leaseRecordOf = async (rows: Collection): Promise<string[]> => {
  const [[, text = ""] = []] = (await rows.after("", 9)).filter(([key]) => !key.startsWith("applied/"));
  return text.split(" ");
};

t.test("fulfils the contract of all stores", async (t) =>
  leaseRecordsContract(
    t,
    async () => openMemoryStore({ mayBeStale: true }),
    async (store, rows, leaseMs) => (await open(store, leaseMs, { faults: rows })).leaseRecords,
  ),
);

t.test("a lease record is renewed for each ping that arrives alone", async (t) => {
  const { store, rows } = openShared(t);
  const { leaseRecords } = await open(store, LONG, { name: "authority 1" });
  for (const count of ["1", "2", "3"]) {
    await leaseRecords.hold();
    const about = ['{"name":"authority', '1","lacking":{}}'];
    t.match(await leaseRecordOf(rows), [`${leaseSpan(LONG)}`, count, /^\d+$/, /^\d+$/, ...about]);
  }
  t.equal((await rows.keys()).length, 1);
});

t.test("reports guards that do not understand a restriction, and authorities that do not know it", async (t) => {
  const { store } = openShared(t);
  const asking = await open(store, LONG);
  const lacking = { "limited-keys": ["gateway", "shop"], other: [] };
  for (const [name, about] of Object.entries({ first: lacking, second: { other: [] } })) {
    await (await open(store, LONG, { name, lacking: about })).leaseRecords.hold();
  }
  const of = async (kind: string) => (await asking.leaseRecords.lacking(kind)).toSorted();
  t.same(await of("limited-keys"), [
    "gateway at the authority first",
    "shop at the authority first",
    "the authority second",
  ]);
  t.same(await of("other"), []);
  t.same(await of("constructor"), ["the authority first", "the authority second"]);
});

t.test("pings that arrive during a renewal share the next one", async (t) => {
  const { store, rows } = openShared(t);
  const began: (() => void)[] = [];
  const { leaseRecords } = await open(store, LONG, {
    faults: {
      replace: async (...entry) => {
        await new Promise<void>((resolve) => began.push(resolve));
        return rows.replace(...entry);
      },
    },
  });
  await leaseRecords.hold();
  const first = leaseRecords.hold();
  await until(() => began.length === 1);
  let held = 0;
  const others = Array.from({ length: 50 }, () => leaseRecords.hold().then(() => held++));
  began[0]!();
  await first;
  t.equal(held, 0, "the renewal under way may have begun before they came");
  await until(() => began.length === 2);
  began[1]!();
  await Promise.all(others);
  t.equal((await leaseRecordOf(rows))[1], "3");
});

t.test("a lease record is renewed at most a hundred times per lease", async (t) => {
  const { store, rows } = openShared(t);
  const { leaseRecords } = await open(store, MIDDLE);
  const start = performance.now();
  for (let ping = 0; ping < 20; ping++) await leaseRecords.hold();
  const took = performance.now() - start;
  t.ok(took >= 19 * (MIDDLE / 100 - EARLY), `${took} ms`);
  t.equal((await leaseRecordOf(rows))[1], "20");
});

t.test("a change waits exactly until the other authority has reported it", async (t) => {
  const { store } = openShared(t);
  const [one, other] = [await open(store, LONG), await open(store, LONG)];
  await other.leaseRecords.hold();
  await report(other);
  const revision = await change(one.journal);
  let settled = false;
  const waiting = timeOf(one.leaseRecords.settled(revision)).then((time) => {
    settled = true;
    return time;
  });
  await sleep(200);
  t.notOk(settled, "what it reported before is older");
  await report(other);
  t.ok((await waiting) < LONG / 2);
});

t.test("a report of a later revision counts", async (t) => {
  const { store } = openShared(t);
  const [one, other] = [await open(store, LONG), await open(store, LONG)];
  await other.leaseRecords.hold();
  const revision = await change(one.journal);
  await other.journal.sync();
  await change(other.journal, "later");
  await report(other);
  t.ok((await timeOf(one.leaseRecords.settled(revision))) < LONG / 2);
});

t.test("a report of another history does not count", async (t) => {
  const { store } = openShared(t);
  const [one, other] = [await open(store, LONG), await open(store, MIDDLE)];
  await other.leaseRecords.hold();
  const revision = await change(one.journal);
  const start = performance.now();
  await other.leaseRecords.report(revision, "00000000");
  await one.leaseRecords.settled(revision);
  const waited = performance.now() - start;
  t.ok(waited >= MIDDLE - EARLY, `waited ${waited} ms`);
});

t.test("a change is settled even if no notifications arrive", async (t) => {
  const { store } = openShared(t);
  const follow: KeyValueStore["follow"] = () => () => undefined;
  const [one, other] = [await open(store, LONG, { follow }), await open(store, LONG, { follow })];
  await other.leaseRecords.hold();
  const waiting = timeOf(one.leaseRecords.settled(await change(one.journal)));
  await report(other);
  t.ok((await waiting) < LONG / 2);
});

t.test("a report is written again for a new lease record", async (t) => {
  const { store, rows } = openShared(t);
  const [one, other] = [await open(store, LONG), await open(store, LONG)];
  await other.leaseRecords.hold();
  const revision = await change(one.journal);
  await report(other);
  await rows.delete(await rows.keys());
  await other.leaseRecords.hold();
  t.equal((await rows.keys()).filter((key) => key.startsWith("applied/")).length, 1);
  t.ok((await timeOf(one.leaseRecords.settled(revision))) < LONG / 2);
});

t.test("renewals during the wait do not extend it", async (t) => {
  const { store } = openShared(t);
  const [one, other] = [await open(store, LONG), await open(store, MIDDLE)];
  await other.leaseRecords.hold();
  const pinging = setInterval(() => void other.leaseRecords.hold(), 20);
  t.teardown(() => clearInterval(pinging));
  const waited = await timeOf(one.leaseRecords.settled(await change(one.journal)));
  t.ok(waited >= MIDDLE - EARLY, `waited ${waited} ms`);
  t.ok(waited < LONG / 2, `waited ${waited} ms`);
});

t.test("a change waits for the full span of a renewal after the last reading", async (t) => {
  const { store } = openShared(t);
  const [one, other] = [await open(store, LONG), await open(store, MIDDLE)];
  await other.leaseRecords.hold();
  await one.leaseRecords.open();
  await sleep(MIDDLE / 2);
  const start = performance.now();
  await other.leaseRecords.hold();
  await one.leaseRecords.settled(await change(one.journal));
  const waited = performance.now() - start;
  t.ok(waited >= MIDDLE - EARLY, `waited ${waited} ms`);
});

t.test("an authority that is gone", async (t) => {
  await t.test("delays one change; then its lease record and report are deleted", async (t) => {
    const { store, rows } = openShared(t);
    const [one, gone] = [await open(store, LONG), await open(store, SHORT)];
    await gone.leaseRecords.hold();
    await report(gone);
    await one.leaseRecords.settled(await change(one.journal));
    await one.leaseRecords.settled(await change(one.journal, "y"));
    await until(async () => (await rows.keys()).length === 0);
  });
  await t.test("keeps its lease record if it renews it just before the deletion", async (t) => {
    const { store, rows } = openShared(t);
    let other: Authority | undefined;
    const one = await open(store, LONG, {
      faults: {
        deleteIf: async (key, text) => {
          await other?.leaseRecords.hold();
          return rows.deleteIf(key, text);
        },
      },
    });
    other = await open(store, SHORT);
    await other.leaseRecords.hold();
    await one.leaseRecords.settled(await change(one.journal));
    await sleep(2 * SHORT);
    await one.leaseRecords.settled(await change(one.journal, "y"));
    t.ok(Number((await leaseRecordOf(rows))[1]) > 1);
  });
});

t.test("the log names the authority that a change waited for, once until it reports again", async (t) => {
  const { store } = openShared(t);
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => logged.push(JSON.parse(line)) });
  const [one, other] = [await open(store, LONG, { log }), await open(store, SHORT, { name: "host-7" })];
  const pinging = setInterval(() => void other.leaseRecords.hold(), SHORT / 4);
  t.teardown(() => clearInterval(pinging));
  const wait = async (name: string): Promise<void> => {
    await other.leaseRecords.hold();
    await one.leaseRecords.settled(await change(one.journal, name));
  };
  await wait("a");
  await wait("b");
  await report(other);
  await one.leaseRecords.settled(one.journal.state.revision);
  await wait("c");
  const late = logged.filter(({ msg }) => `${msg}`.startsWith("an authority did not report in time"));
  t.match(late, [
    { authority: "host-7", revision: 1, reported: 0 },
    { authority: "host-7", revision: 3, reported: 2 },
  ]);
});

t.test("authorities learn each other's time", async (t) => {
  const { store } = openShared(t);
  const times: number[] = [];
  const [one, other] = [await open(store, LONG, { times }), await open(store, LONG)];
  const before = Date.now();
  await other.leaseRecords.hold();
  await one.leaseRecords.open();
  t.ok(times.at(-1)! >= before);
});
