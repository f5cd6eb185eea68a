// How usage is stored: rows of minutes and hours, of limited size, each written once.

import t from "tap";
import { HOUR, MINUTE, UsageWindow } from "../../../services/auth/endpoints/usage-window.js";
import type { Tally } from "../../../src/gen/portico/auth/v1/usage.js";
import { type Collection, collectionOf } from "../../../src/store/collection.js";
import { StoreError } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { silent } from "./open.js";

const NOON = Math.floor(1_800_000_000_000 / HOUR) * HOUR;

const tally = (calls: number, endpoint = "Helloworld.Call"): Tally => ({
  ...{ namespace: "default", service: "helloworld", endpoint, clientErrors: 0n, serverErrors: 0n },
  ...{ byStatus: [], account: "", key: "" },
  byTime: [BigInt(calls)],
});

/** Calls by the moment at which their minute or hour began. */
function sums(slices: Awaited<ReturnType<UsageWindow["read"]>>): Record<number, number> {
  const sums: Record<number, number> = {};
  for (const { start, calls } of slices) {
    for (const { byTime } of calls.tallies) sums[start - NOON] = (sums[start - NOON] ?? 0) + Number(byTime[0]);
  }
  return sums;
}

function setUp(rows: Collection = collectionOf(openMemoryStore(), "usage")) {
  const time = { now: NOON };
  const window = () => new UsageWindow({ rows, log: silent, clock: () => time.now });
  return { rows, time, window };
}

const kinds = async (rows: Collection) => (await rows.keys()).map((key) => key.split("/")[0]);

t.test("minutes are written when they are over, and are added up to hours", async (t) => {
  const { rows, time, window } = setUp();
  const usage = window();
  for (let minute = 0; minute < 3; minute++) {
    usage.add({ tallies: [tally(1)], callers: [] });
    time.now += MINUTE;
  }
  usage.add({ tallies: [tally(10)], callers: [] });
  await usage.write();
  t.same(await kinds(rows), ["minute", "minute", "minute"], "the minute that runs is not written");
  t.same(sums(await usage.read("minute", NOON)), { 0: 1, [MINUTE]: 1, [2 * MINUTE]: 1, [3 * MINUTE]: 10 });
  t.same(sums(await usage.read("hour", NOON)), { 0: 13 });

  time.now = NOON + HOUR + 11 * MINUTE;
  await usage.write();
  t.same(await kinds(rows), ["hour", "minute", "minute", "minute", "minute"]);
  t.same(sums(await usage.read("hour", NOON)), { 0: 13 }, "nothing counts twice");

  time.now = NOON + 5 * HOUR;
  await usage.write();
  t.same(await kinds(rows), ["hour"], "minutes are kept for three hours");
  time.now = NOON + 32 * 24 * HOUR;
  await usage.write();
  t.same(await kinds(rows), [], "hours are kept for thirty days");
});

t.test("of two authorities on a store, one adds up an hour, with the counts of both", async (t) => {
  const { rows, time, window } = setUp();
  const [one, other] = [window(), window()];
  one.add({ tallies: [tally(1)], callers: [] });
  other.add({ tallies: [tally(2)], callers: [] });
  time.now += 2 * HOUR;
  await Promise.all([one.write(), other.write()]);
  await Promise.all([one.write(), other.write()]);
  for (const usage of [one, other]) {
    t.same(sums(await usage.read("hour", NOON)), { 0: 3 });
    t.same(sums(await usage.read("minute", NOON)), { 0: 3 });
  }
  t.same(await kinds(rows), ["hour", "minute", "minute"]);
});

t.test("counts that are read during their write count once", async (t) => {
  const { time, window } = setUp();
  const usage = window();
  usage.add({ tallies: [tally(1)], callers: [] });
  time.now += MINUTE;
  const [, slices] = await Promise.all([usage.write(), usage.read("minute", NOON)]);
  t.same(sums(slices), { 0: 1 });
});

t.test("counts that cannot be written are kept until a write succeeds", async (t) => {
  const { rows, time } = setUp();
  let broken = true;
  const create: Collection["create"] = async (...row) => {
    if (broken) throw new StoreError("the disk is full");
    return rows.create(...row);
  };
  const usage = new UsageWindow({ rows: { ...rows, create }, log: silent, clock: () => time.now });
  usage.add({ tallies: [tally(1)], callers: [] });
  time.now += MINUTE;
  await usage.write();
  t.same(sums(await usage.read("minute", NOON)), { [MINUTE]: 1 });
  broken = false;
  time.now += MINUTE;
  await usage.write();
  t.same(await kinds(rows), ["minute"]);
  t.same(sums(await usage.read("minute", NOON)), { [MINUTE]: 1 });
});

t.test("a row has the endpoints and the callers with the most calls, and the sums of the others", async (t) => {
  const { rows, time, window } = setUp();
  const usage = window();
  const indexes = Array.from({ length: 1_000 }, (_, index) => index);
  usage.add({
    tallies: indexes.map((index) => tally(index + 1, `Big.Endpoint${index}`)),
    callers: indexes.map((index) => ({ ...tally(index + 1), service: "", endpoint: "", account: `account${index}` })),
  });
  time.now += MINUTE;
  await usage.write();
  const [slice] = await window().read("minute", NOON);
  t.same(sums([slice!]), { 0: 500_500 }, "no call is lost");
  const [key] = await rows.keys();
  t.ok(Buffer.byteLength((await rows.get(key!)) ?? "") < 64 * 1024, "a row is small");
  const { tallies = [], callers = [] } = slice?.calls ?? {};
  for (const [counted, first, nameOf] of [
    [tallies, "Big.Endpoint999", ({ endpoint }: Tally) => endpoint],
    [callers, "account999", ({ account }: Tally) => account],
  ] as const) {
    t.equal(counted.length, 301);
    const calls = Object.fromEntries(counted.map((one) => [nameOf(one), Number(one.byTime[0])]));
    t.equal(calls[first], 1_000);
    t.equal(calls[""], (700 * 701) / 2);
  }
});

t.test("a damaged row is ignored", async (t) => {
  const { rows, window } = setUp();
  await rows.create(`minute/${String(NOON).padStart(15, "0")}/x`, "/////w==");
  const usage = window();
  usage.add({ tallies: [tally(1)], callers: [] });
  t.same(sums(await usage.read("minute", NOON)), { 0: 1 });
});
