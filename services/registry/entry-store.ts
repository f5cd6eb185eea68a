/** All instances of a service store their data in one store. */
import { failedPrecondition } from "../../src/errors.js";
import { Joined } from "../../src/gen/portico/registry/v1/registry.js";
import type { InstanceEntry } from "./entry.js";

/**
 * If instances had different stores, each would lack the data of the others.
 * @param others the instances of the service that have joined
 * @throws {StatusError} FAILED_PRECONDITION
 */
export function checkStore({ instance, store }: InstanceEntry, others: readonly InstanceEntry[]): void {
  if (store === undefined) return;
  const { service, id } = instance;
  for (const other of others) {
    if (other.instance.id === id || other.store === undefined || other.store.id === store.id) continue;
    const [mine, theirs] = [store, other.store].map(({ name }) => name.slice(0, 200));
    const isLocal = other.instance.joined === Joined.WITH_AUTHORITY;
    const who = isLocal ? "the one in the authority's own process" : `one that runs (${other.instance.id})`;
    const remedy = isLocal
      ? `. On the authority's machine, name that store in PORTICO_SERVICE_STORE, or the authority's data folder in PORTICO_DATA; ` +
        `or leave ${service} out of PORTICO_OWN_SERVICES there`
      : "";
    throw failedPrecondition(
      `this instance of ${service} keeps its data in ${mine}, and ${who} in ${theirs}: name one ` +
        "store for both in PORTICO_SERVICE_STORE, which is a database where they run on several machines; or stop the other" +
        remedy,
    );
  }
}
