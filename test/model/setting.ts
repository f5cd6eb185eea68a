/**
 * The parameters of a run of the model: the number of processes, the events that may happen, and
 * the safeguard that is removed.
 */
import type { Step } from "./explore.js";
import { clone, type State } from "./state.js";

/** How often each event may happen at most. An event that is not named never happens. */
export interface Budget {
  /** Changes that take access away. */
  readonly change?: number;
  /**
   * Two changes that an authority writes in one step (decide.ts). The model follows either of them
   * to its acknowledgement.
   */
  readonly pair?: number;
  /** Pings of all guards together. */
  readonly ping?: number;
  /** Streams that guards open after the first ones. */
  readonly open?: number;
  /** Connections that break, and lose everything that is under way on them. */
  readonly break?: number;
  /** Streams that callers open at guards. */
  readonly call?: number;
  /** Tokens whose caller a guard asks for before a call. */
  readonly lookup?: number;
  /** kill -9 of an authority. */
  readonly crash?: number;
  /** Clean stops of an authority. */
  readonly stop?: number;
  /** Starts of an authority that is down, each with any of `restartLeases`. */
  readonly start?: number;
  /** The primary of the store is demoted, and still responds to reads. */
  readonly failover?: number;
  /** The demoted primary shows a change that no other server has. */
  readonly ghost?: number;
  /** Writes that fail or never get a response, whether they took effect or not. */
  readonly fail?: number;
}

export interface Setting {
  readonly guards: number;
  /** How long the leases of each authority run after its first start, in ticks. */
  readonly authorities: readonly number[];
  /** How long leases may run after later starts, in ticks. */
  readonly restartLeases?: readonly number[];
  readonly budget: Budget;
  /**
   * Which lease records: `postgres` shared ones (shared-lease-records.ts), `sqlite` records that
   * are written once and retired (sqlite-lease-records.ts).
   */
  readonly store: "sqlite" | "postgres";
  /** The only authority that makes changes; undefined if any may. */
  readonly committer?: 0 | 1 | undefined;
}

/** Collects the steps that are possible in a state. */
export class Steps {
  readonly found: Step<State>[] = [];
  readonly state: State;
  readonly setting: Setting;
  /** The name of the safeguard that is removed. */
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
    // A stream that both ends have forgotten, and that no change waits for, is not part of the
    // state.
    next.streams = next.streams.filter(({ guardEnd, authorityEnd, left }) => guardEnd || authorityEnd || left > 0);
    this.found.push([label, next]);
  }

  /** Like `add`, but only while the budget allows the event. */
  event(kind: keyof Budget, label: string, act: (next: State) => void): void {
    const left = this.state.budget[kind] ?? 0;
    if (left === 0) return;
    this.add(label, (next) => {
      next.budget[kind] = left - 1;
      act(next);
    });
  }
}
