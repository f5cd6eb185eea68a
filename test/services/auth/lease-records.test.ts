/** Lease records on a store of one machine: what authorities write, and what they leave. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import t, { type Test } from "tap";
import { LocalLeaseRecords, leaseSpan, MAX_SPAN } from "../../../services/auth/log/leases/lease-records.js";
import { type Collection, collectionOf } from "../../../src/store/collection.js";
import { leaseRecordsContract, timeOf } from "../../contract/lease-records.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { silent } from "./open.js";

const LONG = 600;
const SHORT = 40;
/** How early timers may fire, in milliseconds. */
const EARLY = 2;

interface Setting {
  readonly rows: Collection;
  /** Opens an authority's lease records, as at its start. */
  open(leaseMs: number, options?: { rows?: Collection; log?: typeof silent }): Promise<LocalLeaseRecords>;
}

function setting(t: Test): Setting {
  const store = openMemoryStore();
  t.teardown(() => store.close());
  const shared = collectionOf(store, "grantors");
  return {
    rows: shared,
    open: async (leaseMs, { rows = shared, log = silent } = {}) => {
      const leaseRecords = new LocalLeaseRecords({
        rows,
        store: "in memory",
        log,
        now: () => performance.now(),
        leaseMs,
      });
      await leaseRecords.open();
      return leaseRecords;
    },
  };
}

t.test("fulfils the contract of all stores", async (t) =>
  leaseRecordsContract(
    t,
    async () => openMemoryStore(),
    (store, rows, leaseMs) =>
      new LocalLeaseRecords({
        rows,
        store: store.name,
        log: silent,
        now: () => performance.now(),
        leaseMs,
      }),
  ),
);

t.test("a lease record is written once", async (t) => {
  const { open, rows } = setting(t);
  const leaseRecords = await open(LONG);
  await leaseRecords.hold();
  const before = await rows.after("", 10);
  t.match(before, [[String, `${leaseSpan(LONG)}`]]);
  const readOnly = {
    ...rows,
    create: () => Promise.reject(new Error("full")),
    delete: () => Promise.reject(new Error("full")),
  };
  Object.assign(rows, readOnly);
  for (let ping = 0; ping < 5; ping++) await leaseRecords.hold();
  t.same(await rows.after("", 10), before);
});

t.test("if an authority is killed while it waits, the next one waits", async (t) => {
  const { open, rows } = setting(t);
  await (await open(LONG)).hold();
  await (await open(SHORT)).hold();
  const start = performance.now();
  t.same(
    (await rows.after("", 10)).filter(([key]) => key.startsWith("retired/")).length,
    1,
    "the second authority, which is killed now, retired the lease record of the first one",
  );
  const third = await open(SHORT);
  await third.settled();
  t.ok(performance.now() - start >= leaseSpan(LONG) - EARLY);
});

t.test("if an authority is killed at any step of retiring a lease record, the next one waits", async (t) => {
  const steps: Record<string, (rows: Collection) => Partial<Collection>> = {
    "before it writes": () => ({ create: () => Promise.reject(new Error("killed")) }),
    "between its two writes": () => ({ delete: () => Promise.reject(new Error("killed")) }),
  };
  for (const [step, error] of Object.entries(steps)) {
    await t.test(step, async (t) => {
      const { open, rows } = setting(t);
      await (await open(LONG)).hold();
      await open(SHORT, { rows: { ...rows, ...error(rows) } });
      const start = performance.now();
      await (await open(SHORT)).settled();
      t.ok(performance.now() - start >= leaseSpan(LONG) - EARLY);
    });
  }
});

t.test("if a lease record cannot be retired, each change waits for its span", async (t) => {
  const { open, rows } = setting(t);
  await (await open(LONG)).hold();
  const full = {
    ...rows,
    create: () => Promise.reject(new Error("full")),
    delete: () => Promise.reject(new Error("full")),
  };
  const after = await open(SHORT, { rows: full });
  await sleep(LONG / 2);
  for (const change of ["first", "second"]) {
    const waited = await timeOf(after.settled());
    t.ok(waited >= leaseSpan(LONG) - EARLY, `${change}: ${waited} ms`);
  }
});

t.test("a row that cannot be read counts as the longest possible lease", async (t) => {
  const { open, rows } = setting(t);
  await rows.create(randomUUID(), "damaged");
  await open(SHORT);
  const [[, value]] = (await rows.after("", 1)) as [readonly [string, string]];
  t.equal(value, `${MAX_SPAN}`);
  t.equal(MAX_SPAN, leaseSpan(60_000));
});

t.test("retired rows are deleted once their leases have ended", async (t) => {
  const { open, rows } = setting(t);
  await (await open(SHORT)).hold();
  await open(SHORT);
  t.equal((await rows.keys()).length, 1);
  while ((await rows.keys()).length > 0) await sleep(20);
});

t.test("two authorities on one store each log this once", async (t) => {
  const { open } = setting(t);
  const logged: string[] = [];
  const logTo = (name: string) =>
    pino({ level: "warn" }, { write: (line: string) => logged.push(`${name}: ${JSON.parse(line).msg}`) });
  const [first, second] = [await open(SHORT, { log: logTo("first") }), await open(SHORT, { log: logTo("second") })];
  await first.hold();
  await second.hold();
  for (let change = 0; change < 3; change++) {
    await second.settled();
    await first.hold();
    await first.settled();
    await second.hold();
  }
  t.same(logged.map((line) => line.slice(0, 64)).sort(), [
    "first: another authority uses store in memory too: each change t",
    "second: another authority uses store in memory too: each change ",
  ]);
  t.match(logged[0], /Stop one of the two, or give it a data folder of its own \(PORTICO_DATA, PORTICO_STORE\)$/);
});
