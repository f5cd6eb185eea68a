/** What a check of `portico doctor` finds, and the deadline of its inputs and outputs. */
import { ConfigError } from "../../src/config/setting.js";
import { StoreError } from "../../src/store/store.js";
import { within } from "../../src/within.js";
import { CommandError } from "../terminal/exit.js";
import { instant } from "../terminal/output.js";

/**
 * `warning`: calls are served, and something must be mended soon. `problem`: something fails.
 * `unchecked`: it cannot be seen from here.
 */
export type FindingState = "ok" | "warning" | "problem" | "unchecked";

export interface Finding {
  /** What was checked, such as `store`. */
  readonly check: string;
  readonly state: FindingState;
  /** A sentence. If something is wrong, it says what to do. */
  readonly text: string;
}

export type Check = () => Promise<readonly Finding[]>;

/** The longest time for one input or output of a check, in milliseconds. */
export const DEADLINE_MS = 2_000;

/** The response of `/livez`, at each port with HTTP. */
export const ALIVE = '{"Status":"alive"}';

/** A time in milliseconds since 1970, as tables show it. */
export function utc(time: number): string {
  return instant(new Date(time).toISOString());
}

/** The functions that make the findings of one check. */
export function findingsOf(check: string) {
  const make = (state: FindingState) => (text: string) => ({ check, state, text });
  return { ok: make("ok"), warning: make("warning"), problem: make("problem"), unchecked: make("unchecked") };
}

/**
 * The result of an input or output that cannot be aborted.
 * @throws {CommandError} if it does not end within DEADLINE_MS
 */
export function inTime<T>(what: string, result: Promise<T>): Promise<T> {
  return within(DEADLINE_MS, result, () => new CommandError(`${what} within ${DEADLINE_MS / 1000} s`));
}

/** Runs a check. An error that an operator can mend becomes a problem. */
export async function findingsFrom(check: string, run: Check): Promise<readonly Finding[]> {
  try {
    return await run();
  } catch (error) {
    return [findingsOf(check).problem(textOf(error))];
  }
}

/** @throws {unknown} the error itself, if it is an error in Portico */
function textOf(error: unknown): string {
  const isMendable =
    error instanceof ConfigError ||
    error instanceof StoreError ||
    error instanceof CommandError ||
    (error instanceof Error && "code" in error);
  if (!isMendable) throw error;
  return error.message.replace(/\s+/g, " ").trim();
}
