/** A service in a process of its own, joined to the authority and the registry of another. */
import { setTimeout as sleep } from "node:timers/promises";
import type { OpenGuard } from "../access/guard.js";
import { follow } from "../follow.js";
import type { Instance } from "../gen/portico/registry/v1/registry.js";
import type { Logger } from "../log.js";
import type { Registration } from "../rpc/registration.js";
import type { Service } from "../rpc/service.js";
import type { ProcessContext } from "./context.js";
import { type GrpcPort, instanceOf, keepGrpcHealth, openGrpcPort } from "./grpc-port.js";
import type { Joined } from "./join.js";
import { openCallQueue } from "./refusals.js";
import { registerWithEach } from "./register.js";

/** A service that runs. */
export interface ServiceProcess {
  readonly guard: OpenGuard;
  readonly grpc: GrpcPort;
  readonly registration: Registration;
  /**
   * Resolves when the service has its store, and may register.
   * @throws {Error} (rejects) where the store cannot be used at first. It is tried again, unless the start gives up.
   */
  readonly stored: Promise<unknown>;
}

/** The longest pause between attempts to open a store, in milliseconds: after the first failure, and ever (see follow.ts). */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/**
 * Opens the gRPC port with the service, behind a guard, and keeps it registered with each authority until the process stops.
 * @throws {ListenError} when the port cannot be listened on.
 */
export async function openServiceProcess(
  context: ProcessContext,
  { authorities, metadata, guard }: Joined,
  service: Service,
): Promise<ServiceProcess> {
  const { config, shutdown } = context;
  const grpc = await openGrpcPort(context, [service], guard, openCallQueue(context));
  keepGrpcHealth(shutdown, grpc.dispatcher, guard);
  const instance = instanceOf(service, grpc, config);
  const closing = new AbortController();
  shutdown.add(() => closing.abort());
  const stored = guard.ready().then(() => addStore(instance, service));
  const ready = stored.catch(() => tried(() => addStore(instance, service), context.log, closing.signal));
  const registration = registerWithEach({ authorities, metadata, instance, ready });
  shutdown.add(() => registration.close());
  return { guard, grpc, registration, stored };
}

/** Has the instance say where its data is. @returns what the log says of it */
export async function addStore(instance: Instance, { store }: Service): Promise<{ readonly store?: string }> {
  if (store === undefined) return {};
  const { id, name } = await store();
  if (id !== undefined) instance.store = { id, name };
  return { store: name };
}

/** Resolves with the first attempt that does not fail; never where it is stopped before. */
function tried<T>(attempt: () => Promise<T>, log: Logger, signal: AbortSignal): Promise<T> {
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
