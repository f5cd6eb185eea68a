/** Optimistic concurrency: reads, decides and writes atomically while other calls write too. */
import { aborted, type Call } from "../../src/kit/index.js";

/** How often a call that is alone in this process tries again. Other processes may be faster. */
const MAX_ATTEMPTS = 1000;

/** The last call of each queue in this process. Calls that change the same data share a queue. */
const last = new Map<string, Promise<unknown>>();

/**
 * Repeats an attempt until it returns a result. An attempt reads entries, decides, and commits on
 * the condition that the entries have not changed. If another call was faster and changed them, the
 * attempt returns undefined. Calls that lost such a race then run one after the other, because most
 * attempts would fail if all ran at once.
 * @param changed what the call changes, such as the name of a list
 * @throws {StatusError} ABORTED if the caller has left, the deadline has passed, or others were
 *   faster each time
 */
export async function retry<T>(call: Call, changed: string, attempt: () => Promise<T | undefined>): Promise<T> {
  const result = await attempt();
  if (result !== undefined) return result;
  const [service] = call.endpoint.split(":", 1);
  return inTurn(`${service}/${call.namespace}/${changed}`, async () => {
    for (let attempts = 0; attempts < MAX_ATTEMPTS && !call.signal.aborted; attempts++) {
      const result = await attempt();
      if (result !== undefined) return result;
    }
    throw aborted("Others changed the same data at the same time: try again");
  });
}

async function inTurn<T>(name: string, act: () => Promise<T>): Promise<T> {
  const result = (last.get(name) ?? Promise.resolve()).then(act);
  const settled = result.catch(() => undefined);
  last.set(name, settled);
  try {
    return await result;
  } finally {
    if (last.get(name) === settled) last.delete(name);
  }
}
