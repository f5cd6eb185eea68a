/**
 * Work that a service does at planned times, once for all its instances:
 *
 *     await serve(GreeterService, { … }, {
 *       name: "greeter",
 *       schedules: { tidy: schedule("every 5m", async (run) => { … }) },
 *     })
 */
import { Cron } from "croner";
import { duration } from "../config/setting-values.js";
import type { Log } from "./call.js";
import type { Store } from "./store.js";

/** What the function of a schedule gets. */
export interface Run {
  /**
   * The planned time, in milliseconds since 1970. If the instance is killed or stopped during the
   * run, another instance runs the function again, with the same time unless a later one has
   * passed.
   */
  readonly scheduled: number;
  /**
   * How many planned times before this one have passed without a complete run, for example because
   * no instance ran; at most 10,000 are counted.
   */
  readonly missed: number;
  /** Aborted when the process stops, or another instance takes over. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /**
   * A collection of the namespace `default`. Its writes reject with ABORTED after another instance
   * has taken over.
   */
  store<T = unknown>(collection: string): Store<T>;
  /** All namespaces that exist, each with its collections. */
  namespaces(): Promise<readonly RunNamespace[]>;
}

/** The data of a namespace, for a run. */
export interface RunNamespace {
  readonly name: string;
  store<T = unknown>(collection: string): Store<T>;
}

/** When a function runs. */
export interface Schedule {
  readonly when: string;
  /** The first planned time after a time, in milliseconds since 1970, or undefined. */
  readonly next: (after: number) => number | undefined;
  readonly run: (run: Run) => unknown;
}

/** Intervals may have a second to a year. */
const INTERVAL = duration(1, 366 * 86_400);
const EVERY = /^every\s+(\S+)$/;

/**
 * Plans a function. `serve` runs it in one instance at a time: a run that is longer than the time
 * to the next one delays it. After a run that fails, the next planned time is waited for.
 * @param when `every 5m` (`s`, `m`, `h`, `d`; at the multiples of this time since 1970), or a cron
 *   expression in UTC: `30 2 * * 1-5`, or with seconds in front
 * @throws {TypeError} if it cannot be read, or has no planned time
 */
export function schedule(when: string, run: (run: Run) => unknown): Schedule {
  const next = plan(when);
  if (next(Date.now()) === undefined)
    throw new TypeError(`schedule ${JSON.stringify(when)}: it never runs: no such time comes (UTC); choose another`);
  return { when, next, run };
}

function plan(when: string): Schedule["next"] {
  const [, interval] = EVERY.exec(when.trim()) ?? [];
  try {
    if (interval !== undefined) {
      const ms = INTERVAL(interval);
      return (after) => (Math.floor(after / ms) + 1) * ms;
    }
    const cron = new Cron(when, { timezone: "UTC", paused: true });
    return (after) => cron.nextRun(new Date(after))?.getTime();
  } catch (error) {
    const such = "write an interval such as `every 5m`, or a cron expression such as `30 2 * * 1-5`";
    throw new TypeError(`schedule ${JSON.stringify(when)}: ${(error as Error).message}; ${such}`, { cause: error });
  }
}
