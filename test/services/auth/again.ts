/** Calls of an authority whose leases are short, on a machine that may be busy. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, type StatusError } from "../../../src/errors.js";
import { MAX_WAIT } from "../../support/until.js";

/**
 * Calls again while the answer is UNAVAILABLE: on a busy machine an authority's own guard may be without a lease for a
 * moment. Such a change may have been made all the same.
 * @param made what a further attempt is answered where an earlier one has made the change
 */
export async function again<T>(attempt: () => Promise<T>, made?: Code): Promise<T> {
  const end = performance.now() + MAX_WAIT;
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      const { code } = error as StatusError;
      if (attempts > 1 && code === made) return undefined as T;
      if (code !== Code.UNAVAILABLE || performance.now() > end) throw error;
      await sleep(20);
    }
  }
}
