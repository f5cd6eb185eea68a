/**
 * Runs the schedules of a service in one instance at a time. The store has two entries for each:
 *
 *     <service>/default/~schedules/<name>         when it runs next
 *     <service>/default/~schedules/<name>/lease   which instance runs it now; expires if the
 *                                                 instance is killed
 *
 * The instance that creates the lease runs the function. Each commit of the run checks the lease
 * (CollectionStore's `fence`), so after another instance has taken over, the run writes nothing
 * more. The commit that ends the run deletes the lease and plans the next run. So an end is
 * recorded once, and a run that was killed is not: it begins again in another instance.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import type { Logger } from "../log.js";
import type { KeyValueStore, StoredEntry } from "../store/store.js";
import { waitAtMost } from "../within.js";
import { CollectionStore } from "./collection-store.js";
import type { ListNamespaces } from "./namespace-data.js";
import type { Run, Schedule } from "./schedule.js";
import type { SharedStore } from "./shared-store.js";

/** How long a lease lasts without renewal, in milliseconds. */
const LEASE_MS = 15_000;
/** The pause while another instance runs the function, or after the store has failed. */
const RETRY_MS = 1000;
/** The longest sleep, in milliseconds. Another version of the service may change the plan. */
const MAX_SLEEP_MS = 30_000;
/** How long a stop waits for a function that ignores its signal, in milliseconds. */
const STOP_MS = 10_000;
const MAX_MISSED = 10_000;

interface SchedulerOptions {
  readonly service: string;
  readonly store: Pick<SharedStore, "open" | "reads" | "feeds" | "quota">;
  readonly list: ListNamespaces;
  readonly log: Logger;
  readonly leaseMs?: number;
}

/** When a schedule runs next. */
interface Plan {
  readonly when: string;
  /** In milliseconds since 1970. */
  readonly due: number;
}

/** Runs the schedules until it is closed. */
export class Scheduler {
  readonly #closing = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(schedules: Readonly<Record<string, Schedule>>, options: SchedulerOptions) {
    const { signal } = this.#closing;
    const planned = Object.entries(schedules).map(([name, each]) => new Planned(name, each, options, signal));
    this.#running = Promise.all(planned.map((each) => each.repeat()));
  }

  /** Aborts the functions that run, and waits for them. */
  async close(): Promise<void> {
    this.#closing.abort();
    await waitAtMost(STOP_MS, this.#running);
  }
}

/** One schedule in this instance. */
class Planned {
  readonly #schedule: Schedule;
  readonly #options: SchedulerOptions;
  readonly #closing: AbortSignal;
  readonly #log: Logger;
  readonly #key: string;
  readonly #leaseMs: number;
  #isStarted = false;

  constructor(name: string, schedule: Schedule, options: SchedulerOptions, closing: AbortSignal) {
    this.#schedule = schedule;
    this.#options = options;
    this.#closing = closing;
    this.#log = options.log.child({ schedule: name });
    this.#key = `${options.service}/${DEFAULT_NAMESPACE}/~schedules/${name}`;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
  }

  get #leaseKey(): string {
    return `${this.#key}/lease`;
  }

  async repeat(): Promise<void> {
    while (!this.#closing.aborted) {
      let ms = RETRY_MS;
      try {
        ms = await this.#step(await this.#options.store.open());
      } catch (err) {
        this.#log.warn({ err }, "the store of the schedule failed; trying again");
      }
      await pause(ms, undefined, { signal: this.#closing }).catch(() => undefined);
    }
  }

  /** Runs the function if it is due. Returns how long to sleep, in milliseconds. */
  async #step(store: KeyValueStore): Promise<number> {
    const entry = await this.#planned(store);
    if (entry === undefined) return 0;
    const { due } = JSON.parse(entry.value) as Plan;
    const now = Date.now();
    if (due > now) return Math.min(due - now, MAX_SLEEP_MS);
    const lease = randomUUID();
    const { committed } = await store.commit([
      { kind: "check", key: this.#key, condition: { version: entry.version } },
      { kind: "set", key: this.#leaseKey, value: lease, expires: now + this.#leaseMs, condition: "absent" },
    ]);
    if (!committed) return RETRY_MS;
    await this.#hold(store, lease, { due, now });
    return 0;
  }

  /** The entry with the plan; undefined if it has just been made. */
  async #planned(store: KeyValueStore): Promise<StoredEntry | undefined> {
    const [entry] = await store.get([this.#key]);
    // Only the start replaces the plan of another version of the service. Otherwise two versions
    // that run at the same time would replace each other's plan all the time.
    const isKnown =
      this.#isStarted || (entry !== undefined && (JSON.parse(entry.value) as Plan).when === this.#schedule.when);
    this.#isStarted = true;
    if (entry !== undefined && isKnown) return entry;
    const condition = entry === undefined ? "absent" : { version: entry.version };
    await store.commit([{ kind: "set", key: this.#key, ...this.#planAfter(Date.now()), condition }]);
    return undefined;
  }

  #planAfter(time: number): { readonly value: string; readonly expires: undefined } {
    const { when, next } = this.#schedule;
    const plan: Plan = { when, due: next(time) ?? Number.MAX_SAFE_INTEGER };
    return { value: JSON.stringify(plan), expires: undefined };
  }

  /** Runs the function, while it renews the lease. */
  async #hold(store: KeyValueStore, lease: string, { due, now }: { due: number; now: number }): Promise<void> {
    const { scheduled, missed } = latest(this.#schedule, due, now);
    const lost = new AbortController();
    const renewal = this.#renew(store, lease, lost);
    const signal = AbortSignal.any([this.#closing, lost.signal]);
    try {
      const isDone = await this.#run(lease, { scheduled, missed, signal });
      while (!lost.signal.aborted) {
        const ending = this.#end(store, lease, isDone ? Math.max(scheduled, now) : undefined);
        const failed = await ending.catch((err: unknown) => ({ err }));
        if (failed === undefined || this.#closing.aborted) return;
        this.#log.warn(failed, "the end of a schedule could not be written; trying again");
        await pause(RETRY_MS);
      }
    } finally {
      lost.abort();
      await renewal;
    }
  }

  /** Returns whether the run has ended, and not only stopped because of its signal. */
  async #run(lease: string, { scheduled, missed, signal }: Pick<Run, "scheduled" | "missed" | "signal">) {
    const inNamespace =
      (namespace: string, namespaceId?: string) =>
      <T>(collection: string) =>
        this.#collection<T>(collection, { namespace, namespaceId, lease, signal });
    const run: Run = {
      scheduled,
      missed,
      signal,
      log: this.#log,
      store: inNamespace(DEFAULT_NAMESPACE),
      namespaces: async () => {
        const { ids } = await this.#options.list();
        return [...ids].map(([name, id]) => ({ name, store: inNamespace(name, id) }));
      },
    };
    try {
      await this.#schedule.run(run);
      return true;
    } catch (err) {
      if (signal.aborted) return false;
      this.#log.error({ err, scheduled: new Date(scheduled) }, "a schedule failed; it runs again at its next time");
      return true;
    }
  }

  #collection<T>(
    collection: string,
    {
      lease,
      signal,
      ...place
    }: { namespace: string; namespaceId?: string | undefined; lease: string; signal: AbortSignal },
  ): CollectionStore<T> {
    const { service, store } = this.#options;
    const call = { caller: undefined, namespace: place.namespace, clientAddress: "schedules", signal };
    return new CollectionStore<T>({
      open: store.open,
      reads: store.reads.of(call),
      feeds: store.feeds,
      quota: store.quota,
      signal,
      service,
      ...place,
      collection,
      fence: { kind: "check", key: this.#leaseKey, condition: { value: lease } },
      onFailure: (err) => this.#log.error({ err }, "the store of services failed"),
    });
  }

  /**
   * Ends the lease, unless it is lost.
   * @param until plans the next run after this time; undefined leaves the run to another instance
   */
  async #end(store: KeyValueStore, lease: string, until: number | undefined): Promise<void> {
    const plan = until === undefined ? [] : [{ kind: "set", key: this.#key, ...this.#planAfter(until) } as const];
    const release = { kind: "delete", key: this.#leaseKey, condition: { value: lease } } as const;
    await store.commit([release, ...plan]);
  }

  /** Renews the lease until `lost` is aborted, and aborts it if the lease cannot be renewed. */
  async #renew(store: KeyValueStore, value: string, lost: AbortController): Promise<void> {
    const { signal } = lost;
    const key = this.#leaseKey;
    for (let until = performance.now() + this.#leaseMs; !signal.aborted; ) {
      await pause(this.#leaseMs / 5, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const renewed = performance.now() + this.#leaseMs;
      const expires = Date.now() + this.#leaseMs;
      const result = await store
        .commit([{ kind: "set", key, value, expires, condition: { value } }])
        .catch(() => undefined);
      if (result?.committed === true) until = renewed;
      else if (!signal.aborted && (result !== undefined || performance.now() > until)) {
        this.#log.warn("another instance takes over the run, because this one could not renew its lease in time");
        lost.abort();
      }
    }
  }
}

/** The last planned time that has passed, and the number of planned times before it. */
function latest({ next }: Schedule, due: number, now: number): { readonly scheduled: number; readonly missed: number } {
  let [scheduled, missed] = [due, 0];
  for (let time = next(scheduled); time !== undefined && time <= now && missed < MAX_MISSED; time = next(scheduled)) {
    scheduled = time;
    missed++;
  }
  return { scheduled, missed };
}
