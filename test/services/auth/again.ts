/** Repeats calls to an authority with short leases, for tests on a busy computer. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, type StatusError } from "../../../src/errors.js";
import { MAX_WAIT } from "../../support/until.js";

/**
 * Repeats a call while it fails with UNAVAILABLE: on a busy computer, an authority's own guard may
 * be without a lease for a moment. A change may have been made although its call failed.
 * @param made the code with which a repeated call fails if an earlier one has made the change
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
