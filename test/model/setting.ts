/** What a run of the model is about: how many of what, which events may happen, and which safeguards are left out. */
import type { Step } from "./explore.js";
import { clone, type State } from "./state.js";

/** Events that may happen, each at most so often. One that is not named never happens. */
export interface Budget {
  /** Changes that take access away. */
  readonly change?: number;
  /** Two changes that an authority writes in one step (decide.ts). One of them, any, is followed to its acknowledgement. */
  readonly pair?: number;
  /** Pings of all guards. */
  readonly ping?: number;
  /** Streams of guards that open after the first ones. */
  readonly open?: number;
  /** Connections that break, with all that is under way on them. */
  readonly break?: number;
  /** Streams of callers that open at guards. */
  readonly call?: number;
  /** kill -9 of an authority. */
  readonly crash?: number;
  /** Clean stops of an authority. */
  readonly stop?: number;
  /** Starts of an authority that is down, with each of the leases. */
  readonly start?: number;
  /** The store's primary is demoted, and still answers reads. */
  readonly failover?: number;
  /** The demoted primary shows a change that no other server has. */
  readonly ghost?: number;
  /** Writes that fail or are never answered, done or not. */
  readonly fail?: number;
}

export interface Setting {
  readonly guards: number;
  /** The lease of each authority's first start, in ticks. */
  readonly authorities: readonly number[];
  /** The leases that later starts may have. */
  readonly restartLeases?: readonly number[];
  readonly budget: Budget;
  /** Whether the authorities share claims on Postgres (shared-lease-records.ts) or retire them on SQLite (lease-records.ts). */
  readonly store: "sqlite" | "postgres";
  /** The one authority that makes changes; any where it is undefined. */
  readonly committer?: 0 | 1 | undefined;
}

/** Collects the steps that a state allows. */
export class Steps {
  readonly found: Step<State>[] = [];
  readonly state: State;
  readonly setting: Setting;
  /** The name of the safeguard that is left out. */
  readonly #without: string | undefined;

  constructor(state: State, setting: Setting, without: string | undefined) {
    this.state = state;
    this.setting = setting;
    this.#without = without;
  }

  /** Whether the safeguard of this name is in place. */
  has(safeguard: string): boolean {
    return this.#without !== safeguard;
  }

  add(label: string, act: (next: State) => void): void {
    const next = clone(this.state);
    act(next);
    // What both ends have forgotten, and what no change waits for, is no part of a state.
    next.streams = next.streams.filter(({ guardEnd, authorityEnd, left }) => guardEnd || authorityEnd || left > 0);
    this.found.push([label, next]);
  }

  /** As `add`, where the event may still happen. */
  event(kind: keyof Budget, label: string, act: (next: State) => void): void {
    const left = this.state.budget[kind] ?? 0;
    if (left === 0) return;
    this.add(label, (next) => {
      next.budget[kind] = left - 1;
      act(next);
    });
  }
}
