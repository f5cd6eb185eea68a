/** The guarantees of schedules (src/kit/schedule.ts) on an engine of the store. */
import pino from "pino";
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import { ChangeFeeds } from "../../src/kit/change-feeds.js";
import { type Run, schedule } from "../../src/kit/schedule.js";
import { Scheduler } from "../../src/kit/scheduler.js";
import { StoreReads } from "../../src/kit/store-reads.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { overriding } from "../support/catalogue.js";
import { deferred } from "../support/deferred.js";
import { until } from "../support/until.js";
import { type Check, checkOn, type Engine } from "./store-engine.js";

const LEASE_MS = 1_000;
const PLAN = "shop/default/~schedules/tidy";
const HOUR_MS = 3_600_000;

/** An instance that runs a function every second. */
function instance(t: Test, store: KeyValueStore, act: (run: Run) => unknown, when = "every 1s"): Scheduler {
  const reads = new StoreReads();
  const scheduler = new Scheduler(
    { tidy: schedule(when, act) },
    {
      service: "shop",
      store: { open: async () => store, reads, feeds: new ChangeFeeds(reads), quota: undefined },
      list: async () => ({
        installation: "",
        ids: new Map([
          ["default", ""],
          ["acme", "1"],
        ]),
      }),
      log: pino({ level: "silent" }),
      leaseMs: LEASE_MS,
    },
  );
  t.teardown(() => scheduler.close());
  return scheduler;
}

const planned = async (store: KeyValueStore) => JSON.parse((await store.get([PLAN]))[0]?.value ?? "{}");

const BEHAVIOURS: Record<string, Check> = {
  "runs in one of several instances at each planned time": async (t, store, openAgain) => {
    const runs: number[] = [];
    let running = 0;
    const act = async ({ scheduled, missed }: Run) => {
      t.equal(++running, 1, "no other run at the same time");
      runs.push(scheduled);
      t.equal(scheduled % 1000, 0);
      t.ok(missed >= 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
      running--;
    };
    for (const each of [store, await openAgain(), await openAgain()]) instance(t, each, act);
    await until(() => runs.length >= 3);
    t.equal(new Set(runs).size, runs.length, "no time twice");
  },
  "says how many planned times were missed, and plans from now on": async (t, store) => {
    const due = Math.floor(Date.now() / 1000) * 1000 - HOUR_MS;
    const plan = JSON.stringify({ when: "every 1s", due });
    await store.commit([{ kind: "set", key: PLAN, value: plan, expires: undefined }]);
    const runs: { scheduled: number; missed: number }[] = [];
    instance(t, store, ({ scheduled, missed }) => runs.push({ scheduled, missed }));
    await until(() => runs.length >= 2);
    const [{ scheduled, missed }] = runs as [(typeof runs)[0]];
    t.ok(missed >= 3600 && missed <= 3610, `${missed}`);
    t.equal(scheduled, due + missed * 1000);
    t.ok(runs[1]!.missed <= 5, "the next run does not count them again");
  },
  "goes on at the next time after a function that fails": async (t, store) => {
    const runs: number[] = [];
    instance(t, store, ({ scheduled }) => {
      runs.push(scheduled);
      throw new Error("fails");
    });
    await until(() => runs.length >= 2);
    t.ok(runs[1]! > runs[0]!);
  },
  "is taken over from an instance that no longer reaches the store": async (t, store, openAgain) => {
    const runs: string[] = [];
    let isKilled = false;
    const killed = overriding(store, {
      commit: async (writes, options) => {
        if (isKilled) throw new Error("no connection");
        return store.commit(writes, options);
      },
    });
    instance(t, killed, async ({ signal }) => {
      runs.push("killed");
      isKilled = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    await until(() => isKilled);
    const { due } = await planned(store);
    instance(t, await openAgain(), ({ scheduled }) => runs.push(scheduled >= due ? "again" : "too early"));
    await until(() => runs.length >= 2);
    t.same(runs.slice(0, 2), ["killed", "again"]);
  },
  "lets an instance write nothing more after another one took over": async (t, store, openAgain) => {
    let isSlow = false;
    let wake = (): void => {};
    const errors: unknown[] = [];
    // This instance cannot renew its lease, but can still write.
    const slow = overriding(store, {
      commit: async (writes, options) => {
        const isRenewal = writes.length === 1 && writes[0]?.key === `${PLAN}/lease` && writes[0].kind === "set";
        if (isRenewal && isSlow) throw new Error("no connection");
        return store.commit(writes, options);
      },
    });
    instance(t, slow, async (run) => {
      isSlow = true;
      await run.store("orders").set("a", 1);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      await run
        .store("orders")
        .set("a", 2)
        .catch((error) => errors.push(error));
    });
    await until(() => isSlow);
    const taken: Run[] = [];
    instance(t, await openAgain(), async (run) => {
      await run.store("orders").set("a", 3);
      taken.push(run);
    });
    await until(() => taken.length > 0);
    wake();
    await until(() => errors.length > 0);
    t.match(errors, [{ code: Code.ABORTED }]);
    t.equal(await store.get(["shop/default/orders/a"]).then(([entry]) => entry?.value), "3");
  },
  "leaves a run that a stop has interrupted to another instance": async (t, store, openAgain) => {
    let isRunning = false;
    const first = instance(t, store, async ({ signal }) => {
      isRunning = true;
      await new Promise((_, reject) => signal.addEventListener("abort", reject));
    });
    await until(() => isRunning);
    const { due } = await planned(store);
    await first.close();
    t.same(await planned(store), { when: "every 1s", due }, "the run is still due");
    t.same(await store.get([`${PLAN}/lease`]), [undefined], "and no instance has it");
    const runs: Run[] = [];
    instance(t, await openAgain(), (run) => runs.push(run));
    await until(() => runs.length > 0);
    t.ok(runs[0]!.scheduled >= due);
  },
  "is planned again if a new version of the service has another time": async (t, store) => {
    const runs: Run[] = [];
    const value = JSON.stringify({ when: "every 1h", due: Date.now() + HOUR_MS });
    await store.commit([{ kind: "set", key: PLAN, value, expires: undefined }]);
    instance(t, store, (run) => runs.push(run));
    await until(() => runs.length > 0);
    t.equal(runs[0]?.missed, 0);
  },
  "reaches the data of each namespace": async (t, store) => {
    const ended = deferred();
    instance(t, store, async (run) => {
      for (const { name, store } of await run.namespaces()) await store("orders").set("a", name);
      ended.resolve();
    });
    await ended.promise;
    const values = await store.get(["shop/default/orders/a", "shop/acme@1/orders/a"]);
    t.same(
      values.map((entry) => entry?.value),
      ['"default"', '"acme"'],
    );
  },
};

/** Runs the suite on an engine. */
export function scheduleContract(t: Test, engine: Engine): void {
  checkOn(t, engine, BEHAVIOURS, Object.keys(BEHAVIOURS).length);
}
