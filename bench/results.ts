/** What a run of calls.ts finds. */

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
    /** Load average of the minute before. */
    readonly loadBefore: number;
    readonly versions: Readonly<Record<string, string | undefined>>;
  };
  readonly plan: {
    readonly rounds: number;
    /** Before each window. */
    readonly warmUp: number;
    /** Before a window whose calls take code that calls before it do not. */
    readonly newCodeWarmUp: number;
    readonly duration: number;
    /** At the beginning of each turn. */
    readonly firstWarmUp: number;
    readonly points: readonly string[];
  };
  /** The last one that was begun; `plan.rounds` where the run came to its end. */
  readonly round: number;
  readonly systems: readonly SystemResult[];
  readonly failures: readonly Failure[];
  readonly left: readonly { readonly name: string; readonly why: string }[];
}

export interface SystemResult {
  readonly name: string;
  /** Of its processes; the last is what callers reach. */
  readonly roles: readonly string[];
  /** Milliseconds from the start of the process that callers reach to its first answer. */
  readonly start: number;
  /** By payload and connections, such as `15 B, 64 connections`. */
  readonly points: Readonly<Record<string, Telling>>;
}

/** The medians of the rounds. */
export interface Telling {
  /** Answers a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time a call, of the load generator and of each process. */
  readonly generator: number;
  readonly processor: readonly number[];
  /** Resident MiB of each process. */
  readonly memory: readonly number[];
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}
