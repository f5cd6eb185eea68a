/** Registers a service that runs in its own process, with all authorities. */
import { setTimeout as sleep } from "node:timers/promises";
import { follow } from "../follow.js";
import type { Instance } from "../gen/portico/registry/v1/registry.js";
import type { Logger } from "../log.js";
import type { Service } from "../rpc/service.js";
import type { Joined } from "./join.js";
import type { ProcessPart } from "./process.js";
import { registerWithEach } from "./register.js";

/** A service that stays registered while its process runs. */
export interface Registered extends ProcessPart {
  /**
   * Resolves when the service has its store, and is registered.
   * @throws {Error} (rejects) if the first attempt to use the store fails, or the registration is
   * refused. The store is tried again, unless the start is given up.
   */
  ready(): Promise<unknown>;
}

/**
 * The longest pause between attempts to open a store, in milliseconds: after the first failure, and
 * after any number of them (see follow.ts).
 */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/**
 * Keeps a service registered with each authority until it is closed. It is registered as soon as it
 * has its store.
 */
export function keepRegistered(
  service: Service,
  instance: Instance,
  { authorities, metadata, guard }: Pick<Joined, "authorities" | "metadata" | "guard">,
  log: Logger,
): Registered {
  const closing = new AbortController();
  const stored = guard.ready().then(() => addStore(instance, service));
  const ready = stored.catch(() => retry(() => addStore(instance, service), log, closing.signal));
  const registration = registerWithEach({ authorities, metadata, instance, ready });
  const close = (): void => {
    registration.close();
    closing.abort();
  };
  return { ready: () => Promise.all([stored, registration.registered()]), close };
}

/** Writes to the instance where its data is. @returns the name of the store, for the log */
export async function addStore(instance: Instance, { store }: Service): Promise<{ readonly store?: string }> {
  if (store === undefined) return {};
  const { id, name } = await store();
  if (id !== undefined) instance.store = { id, name };
  return { store: name };
}

/** Resolves with the first attempt that succeeds; never resolves if it is stopped before. */
function retry<T>(attempt: () => Promise<T>, log: Logger, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  return new Promise((resolve) => {
    const begin = async (): Promise<void> => {
      await sleep(FIRST_RETRY_MS, undefined, { signal });
      await follow({
        source: "the store of services",
        attempt: async () => {
          resolve(await attempt());
          done.abort();
        },
        onFailure({ error, repeated }) {
          if (!repeated) log.error({ reason: error.message }, "not registered; trying again");
        },
        firstDelayMs: FIRST_RETRY_MS,
        maxDelayMs: MAX_RETRY_MS,
        signal: AbortSignal.any([signal, done.signal]),
      });
    };
    begin().catch(() => {}); // It was stopped.
  });
}
