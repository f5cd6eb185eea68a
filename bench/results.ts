/** The results of a run of calls.ts. */

import type { Failure } from "./turn.js";

export interface Results {
  readonly machine: {
    readonly date: string;
    readonly commit: string;
    readonly cores: number;
    readonly model: string;
    /** GiB. */
    readonly memory: number;
    readonly kernel: string;
    /** Load average of the minute before the run. */
    readonly loadBefore: number;
    readonly versions: Readonly<Record<string, string | undefined>>;
  };
  readonly plan: {
    readonly rounds: number;
    /** The warm-up of each window. */
    readonly warmUp: number;
    /** The warm-up of a window whose calls run new code. */
    readonly newCodeWarmUp: number;
    readonly duration: number;
    /** The warm-up of each turn. */
    readonly firstWarmUp: number;
    readonly points: readonly string[];
  };
  /** The last round that was begun. It is `plan.rounds` if the run was completed. */
  readonly round: number;
  readonly systems: readonly SystemResult[];
  readonly failures: readonly Failure[];
  readonly left: readonly { readonly name: string; readonly why: string }[];
}

export interface SystemResult {
  readonly name: string;
  /** The roles of its processes. The last one is the process that callers connect to. */
  readonly roles: readonly string[];
  /**
   * Milliseconds from the start of the process that callers connect to until its first response.
   */
  readonly start: number;
  /** By payload and connections, such as `15 B, 64 connections`. */
  readonly points: Readonly<Record<string, Telling>>;
}

/** The medians of the rounds. */
export interface Telling {
  /** Responses per second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time for a call: of the load generator, and of each process. */
  readonly generator: number;
  readonly processor: readonly number[];
  /** Resident MiB of each process. */
  readonly memory: readonly number[];
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}
