/** Waits with a time limit: a test that waits too long fails, and names what it waited for. */
import { setTimeout as sleep } from "node:timers/promises";

/** The maximum wait, in milliseconds: ten times what a busy computer needs. */
export const MAX_WAIT = 30_000;
/** The maximum number of characters of a condition's source in an error message. */
const MAX_SOURCE = 200;

interface Options {
  /**
   * Describes the awaited state and the actual one, for the error message; default the condition's
   * source.
   */
  readonly what?: () => string;
  /** The time limit, in milliseconds. */
  readonly within?: number;
}

/**
 * Waits until a condition is true. Between two checks it yields to other tasks.
 * @throws {Error} if it is not true in time, with the caller's stack
 */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  { what = () => sourceOf(isSo), within = MAX_WAIT }: Options = {},
): Promise<void> {
  const late = new Error(); // Made before the wait, because a later stack would not name the caller.
  const end = performance.now() + within;
  for (;;) {
    const left = end - performance.now();
    const result = isSo();
    if (typeof result === "boolean" ? result : (await orLate(result, left)) === true) return;
    if (left < 0) throw describe(late, what(), within);
    await sleep(2);
  }
}

/**
 * Returns what the promise resolves to.
 * @param what describes the awaited event, for the error message
 * @throws {Error} if the promise does not settle in time, with the caller's stack
 */
export async function inTime<T>(promise: Promise<T>, what: string | (() => string), within = MAX_WAIT): Promise<T> {
  const late = new Error();
  const result = await orLate(promise, within);
  if (result === LATE) throw describe(late, typeof what === "string" ? what : what(), within);
  return result;
}

const LATE = Symbol("not settled in time");

async function orLate<T>(promise: Promise<T>, ms: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.max(ms, 0), LATE);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(late: Error, what: string, within: number): Error {
  late.message = `not so within ${within / 1000} s: ${what}`;
  late.stack = `Error: ${late.message}${late.stack?.slice("Error".length) ?? ""}`;
  return late;
}

function sourceOf(isSo: () => unknown): string {
  const source = `${isSo}`.replace(/\s+/g, " ");
  return source.length > MAX_SOURCE ? `${source.slice(0, MAX_SOURCE)} …` : source;
}
