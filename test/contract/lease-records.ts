/**
 * What lease records must do on every store: a change waits for the leases of other authorities,
 * for each one as long as it may run.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { type LeaseRecords, leaseSpan } from "../../services/auth/log/leases/lease-records.js";
import { type Collection, collectionOf } from "../../src/store/collection.js";
import type { KeyValueStore } from "../../src/store/store.js";

const LONG = 600;
const SHORT = 40;
/** How much too early a timer may fire, in milliseconds. */
const EARLY = 2;

/** Makes the lease records of one run of an authority. */
export type MakeLeaseRecords = (
  store: KeyValueStore,
  rows: Collection,
  leaseMs: number,
) => Promise<LeaseRecords> | LeaseRecords;

interface Setting {
  readonly store: KeyValueStore;
  readonly rows: Collection;
  /** Opens the lease records of an authority, as at its start. */
  open(leaseMs: number, faults?: Partial<Collection>): Promise<LeaseRecords>;
}

type Check = (t: Test, setting: Setting) => Promise<void>;

export async function timeOf(act: Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act;
  return performance.now() - start;
}

/**
 * Measures until a time is below `enough`, at most 20 times, because a busy machine may prolong
 * most of them.
 * @returns the shortest time, in milliseconds
 */
async function shortest(enough: number, measure: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 20 && best >= enough; attempt++) best = Math.min(best, await measure());
  return best;
}

/**
 * The revision of the change. Its value does not matter, because no authority reports a revision
 * here.
 */
const CHANGE = 1;

const BEHAVIOURS: Record<string, Check> = {
  "a change waits neither in a new installation nor for the leases of its own authority": async (t, { open }) => {
    const claims = await open(100 * LONG);
    await claims.hold();
    t.ok((await timeOf(claims.settled(CHANGE))) < 50 * LONG);
  },
  "an authority with a shorter lease waits for the longer span of the one before it": async (t, { open }) => {
    await (await open(LONG)).hold();
    const start = performance.now();
    const after = await open(SHORT);
    await after.hold();
    await after.settled(CHANGE);
    const waited = performance.now() - start;
    t.ok(waited >= leaseSpan(LONG) - EARLY, `waited ${waited} ms`);
    t.ok((await shortest(LONG, () => timeOf(after.settled(CHANGE)))) < LONG, "once");
  },
  "the first change waits only for the rest of the span since the start": async (t, { open }) => {
    const waited = await shortest(0.8 * LONG, async () => {
      await (await open(LONG)).hold();
      const after = await open(SHORT);
      await sleep(LONG / 2);
      return timeOf(after.settled(CHANGE));
    });
    t.ok(waited < 0.8 * LONG, `waited ${waited} ms`);
  },
  "an authority waits for the leases that a killed one was waiting for": async (t, { open }) => {
    await (await open(LONG)).hold();
    const start = performance.now();
    void (await open(SHORT)).settled(CHANGE);
    const third = await open(SHORT);
    await third.settled(CHANGE);
    t.ok(performance.now() - start >= leaseSpan(LONG) - EARLY);
  },
  "a change waits while the lease records cannot be read": async (t, { open, rows }) => {
    let broken = false;
    const claims = await open(SHORT, {
      after: (...range) => (broken ? Promise.reject(new Error("gone")) : rows.after(...range)),
    });
    broken = true;
    let settled = false;
    const waiting = claims.settled(CHANGE).then(() => {
      settled = true;
    });
    await sleep(100);
    t.notOk(settled);
    broken = false;
    await waiting;
  },
  "an authority whose lease record is gone grants leases only under a new one": async (t, { open, rows }) => {
    const first = await open(LONG);
    await first.hold();
    const [id] = await rows.keys();
    await rows.delete([id!]);
    const second = await open(SHORT);
    await first.hold();
    t.equal((await rows.keys()).length, 1);
    t.not((await rows.keys())[0], id);
    const waited = await timeOf(second.settled(CHANGE));
    t.ok(waited >= leaseSpan(LONG) - EARLY, "and is waited for again");
  },
  "an authority that cannot write its lease record grants no lease": async (t, { open, rows }) => {
    let full = false;
    const first = await open(LONG, {
      create: (...entry) => (full ? Promise.reject(new Error("full")) : rows.create(...entry)),
    });
    await first.hold();
    await rows.delete(await rows.keys());
    full = true;
    await t.rejects(first.hold());
    full = false;
    await t.resolves(first.hold());
  },
  "an authority that withdraws leaves no lease record if no lease runs": async (t, { open, rows }) => {
    const claims = await open(10 * LONG);
    await claims.hold();
    await claims.withdraw(0);
    t.same(await rows.keys(), []);
    await t.rejects(claims.hold(), { message: "The authority is shutting down" });
  },
  "an authority that withdraws leaves a lease record for the rest of its leases": async (t, { open, rows }) => {
    const claims = await open(100 * LONG);
    await claims.hold();
    await claims.withdraw(LONG);
    t.equal((await rows.keys()).length, 1);
    // The next authority waits from the moment at which it reads the rows, when it opens.
    const waited = await timeOf(open(SHORT).then((next) => next.settled(CHANGE)));
    t.ok(waited >= LONG - EARLY && waited < 50 * LONG, `${waited} ms`);
  },
};

/** @param openStore opens an empty store */
export function leaseRecordsContract(t: Test, openStore: () => Promise<KeyValueStore>, make: MakeLeaseRecords): void {
  for (const [behaviour, check] of Object.entries(BEHAVIOURS)) {
    t.test(behaviour, async (t) => {
      const store = await openStore();
      t.teardown(() => store.close());
      const open: Setting["open"] = async (leaseMs, faults = {}) => {
        const claims = await make(store, { ...collectionOf(store, "grantors"), ...faults }, leaseMs);
        await claims.open();
        return claims;
      };
      await check(t, { store, rows: collectionOf(store, "grantors"), open });
    });
  }
}
