/**
 * An authority of the simulation: the real Journal, Leases, lease records and Reports, on a store
 * whose responses take milliseconds, and sometimes seconds. Streams are simulated. Their messages
 * are handled as in services/auth/endpoints/policy.ts.
 */

import { type Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { type LeaseRecords, LocalLeaseRecords } from "../../../services/auth/log/leases/lease-records.js";
import { type Holder, Leases } from "../../../services/auth/log/leases/leases.js";
import { Reports } from "../../../services/auth/log/leases/reports.js";
import { SharedLeaseRecords } from "../../../services/auth/log/leases/shared-lease-records.js";
import { collectionOf } from "../../../src/store/collection.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { openJournal, silent } from "../../services/auth/open.js";
import type { VirtualTime } from "./virtual-time.js";

/** The guard's end of a stream. */
export interface GuardEnd {
  readonly guard: number;
  onChanged(revision: number): void;
  onPong(sequence: number, revision: number, leaseMs: number): void;
}

export interface SimulationOptions {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly store: KeyValueStore;
  /** How fast the clock of the authority runs; 1 is exact. */
  readonly rate: number;
  readonly leaseMs: number;
  /**
   * False skips the wait for other authorities. The simulation must then find wrongful decisions.
   */
  readonly waitsForOthers: boolean;
  /** The share of the store's responses that take seconds. */
  readonly stalls: number;
}

export class SimulatedAuthority {
  up = true;
  readonly #options: SimulationOptions;
  readonly #journal: Journal;
  readonly #leases: Leases;
  readonly #claims: LeaseRecords;
  readonly #reports: Reports | undefined;

  private constructor(options: SimulationOptions, journal: Journal, store: KeyValueStore, isUp: { up: boolean }) {
    const { time, rate, leaseMs } = options;
    const now = (): number => time.now * rate;
    const common = { log: silent, now, leaseMs, restrictions: () => [], lacking: () => ({}) };
    this.#options = options;
    this.#journal = journal;
    if (store.mayBeStale) {
      const clock = { now: () => time.now, wall: time.now, atLeast: () => undefined, compare: () => undefined };
      const claims = new SharedLeaseRecords({
        ...common,
        store,
        rows: collectionOf(store, "grantors"),
        journal,
        clock,
        name: "simulated",
      });
      this.#claims = claims;
      this.#leases = new Leases({ ...common, leaseRecords: claims });
      this.#reports = new Reports({ journal, leases: this.#leases, leaseRecords: claims, log: silent });
    } else {
      this.#claims = new LocalLeaseRecords({ ...common, rows: collectionOf(store, "grantors"), store: "simulated" });
      this.#leases = new Leases({ ...common, leaseRecords: this.#claims });
    }
    store.follow("log", () => void journal.sync().catch(() => undefined));
    Object.defineProperty(this, "up", { get: () => isUp.up, set: (up) => (isUp.up = up) });
  }

  static async start(options: SimulationOptions): Promise<SimulatedAuthority> {
    const isUp = { up: true };
    const store = slow(options, isUp);
    const journal = await openJournal(store, () => options.time.now);
    const authority = new SimulatedAuthority(options, journal, store, isUp);
    await authority.#claims.open();
    return authority;
  }

  /** Like kill -9: everything under way stops, and every stream breaks. */
  kill(): void {
    this.up = false;
    this.#reports?.close();
  }

  /** Makes a change, and resolves with its revision when the change is acknowledged. */
  async change(onCommitted: () => void): Promise<number> {
    const value = { name: `n${this.#options.time.now}` };
    const revision = await this.#journal.commit(PORTICO, () => [{ $case: "namespaceCreated", value }]);
    onCommitted();
    await (this.#options.waitsForOthers ? this.#leases.settled(revision) : this.#leases.settledHere(revision));
    return revision;
  }

  /** Begins a stream (`listen` of policy.ts). */
  open(end: GuardEnd): SimulatedStream {
    const sha256 = `guard ${end.guard}`;
    return new SimulatedStream(
      this.#journal,
      this.#leases,
      this.#leases.join({ enrolment: sha256, sha256 }, () => undefined),
      end,
    );
  }
}

/** The authority's end of a stream (`listen` and `pong` of policy.ts). */
export class SimulatedStream {
  readonly #journal: Journal;
  readonly #leases: Leases;
  readonly #holder: Holder;
  readonly #end: GuardEnd;
  #unfollow = (): void => undefined;
  #unanswered: number | undefined;
  #isOpen = true;

  constructor(journal: Journal, leases: Leases, holder: Holder, end: GuardEnd) {
    this.#journal = journal;
    this.#leases = leases;
    this.#holder = holder;
    this.#end = end;
    void this.#start();
  }

  async #start(): Promise<void> {
    await this.#journal.sync();
    if (!this.#isOpen) return;
    const tell = (): void => this.#end.onChanged(this.#journal.state.revision);
    this.#unfollow = this.#journal.follow({ changed: tell, replaced: tell });
    tell();
  }

  ping(sequence: number): void {
    this.#unanswered = sequence;
    void this.#response();
  }

  applied(revision: number): void {
    if (!this.#isOpen) return;
    this.#leases.applied(this.#holder, Math.min(revision, this.#journal.state.revision));
    void this.#response();
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#unfollow();
    this.#leases.leave(this.#holder, false);
  }

  async #response(): Promise<void> {
    const sequence = this.#unanswered;
    if (sequence === undefined || !this.#leases.mayGrant(this.#holder)) return;
    this.#unanswered = undefined;
    await this.#leases.prepare();
    await this.#journal.sync();
    if (!this.#isOpen) return;
    const { revision } = this.#journal.state;
    this.#end.onPong(sequence, revision, this.#leases.leaseMs);
    this.#leases.grant(this.#holder, revision);
  }
}

/**
 * The store as a process sees it. Each response takes milliseconds, some take seconds, and none
 * arrives after a kill.
 */
function slow({ time, random, store, stalls }: SimulationOptions, isUp: { readonly up: boolean }): KeyValueStore {
  const latency = (): number => (random() < stalls ? 2_000 + 6_000 * random() : 1 + 4 * random());
  const delayed = <Args extends unknown[], Result>(act: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      await time.sleep(latency());
      if (!isUp.up) return new Promise(() => undefined);
      const result = await act(...args);
      await time.sleep(latency());
      return isUp.up ? result : new Promise(() => undefined);
    };
  };
  return {
    ...store,
    get: delayed(store.get),
    range: delayed(store.range),
    keys: delayed(store.keys),
    commit: delayed(store.commit),
    follow: (name, listener) => store.follow(name, () => isUp.up && listener()),
  };
}
