/** Reading, deciding and writing as one step, where other calls write at the same time. */
import { aborted, type Call } from "../../src/kit/index.js";

/** The last of the calls of this process that wait for each other, by what they change. */
const last = new Map<string, Promise<unknown>>();

/**
 * Repeats an attempt until it returns something. An attempt reads entries, decides, and commits on the condition that the entries
 * are still what it read; it returns undefined where they are not: another call was faster. Calls that have lost a race go
 * one after the other, because most of their attempts would be in vain if all went at once.
 * @param changed what the call changes, such as the name of a list
 * @throws {StatusError} ABORTED when the caller has left or the deadline has passed
 */
export async function retry<T>(call: Call, changed: string, attempt: () => Promise<T | undefined>): Promise<T> {
  const result = await attempt();
  if (result !== undefined) return result;
  const [service] = call.endpoint.split(":", 1);
  return inTurn(`${service}/${call.namespace}/${changed}`, async () => {
    while (!call.signal.aborted) {
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
