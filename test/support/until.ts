/** Waiting with a bound: a test that waits in vain fails, and says for what. */
import { setTimeout as sleep } from "node:timers/promises";

/** How long a wait may take, in milliseconds: ten times what a busy machine needs. */
export const MAX_WAIT = 30_000;
/** Characters of a condition's source in a message. */
const MAX_SOURCE = 200;

interface Options {
  /** What is waited for, and what there is instead. Else the condition's source says it. */
  readonly what?: () => string;
  /** In milliseconds. */
  readonly within?: number;
}

/**
 * Waits until a condition holds. Between two looks it leaves the processor to others.
 * @throws {Error} where it does not hold in time, with the caller's stack.
 */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  { what = () => sourceOf(isSo), within = MAX_WAIT }: Options = {},
): Promise<void> {
  const late = new Error(); // Made here for its stack: after a wait it would not name the caller.
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
 * What the promise resolves to.
 * @param what what is waited for
 * @throws {Error} where it has not settled in time, with the caller's stack.
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
