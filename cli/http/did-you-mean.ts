/** For a name that Portico does not know: says which one was probably meant. */
import { nearest } from "../../src/contract/nearest.js";
import { CallFailure } from "./failure.js";

/**
 * Waits for a call about something by its name.
 * @param known asks for the names there are; only when there is none such.
 * @throws {CommandError} what the call threw, with the nearest name where it was not found.
 */
export async function named<T>(call: Promise<T>, name: string, known: () => Promise<readonly string[]>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof CallFailure) || error.status !== 404) throw error;
    // Who may not see the names is told what the call said.
    const meant = nearest(name, await known().catch(() => []));
    throw meant === undefined ? error : error.with(`; did you mean ${meant}?`);
  }
}
