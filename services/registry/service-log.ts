/** The configured services that are in the authority's log, as the registry needs them. */
import type { ConfiguredService } from "../../src/gen/portico/registry/v1/services.js";
import type { Context } from "../../src/rpc/service.js";

/** The services of the log. All authorities on the store have the same ones. */
export interface ServiceLog {
  /** By name. A service is never changed, but replaced. */
  readonly services: ReadonlyMap<string, ConfiguredService>;
  /**
   * Resolves when `services` has every change that was acknowledged before.
   * @throws {StatusError} (rejects) PERMISSION_DENIED unless an account of the namespace `default`
   *   calls; UNAVAILABLE if the store fails
   */
  sync(context: Context): Promise<void>;
  /**
   * Adds a service, or replaces the one of its name. When this resolves, every authority with a
   * valid lease has the change. A dry run only throws what the change would.
   * @throws {StatusError} (rejects) as `sync`; ALREADY_EXISTS; RESOURCE_EXHAUSTED if the log has
   *   too many services, or too large ones
   */
  put(context: Context, service: ConfiguredService, options: PutOptions): Promise<void>;
  /** @throws {StatusError} (rejects) as `sync`; NOT_FOUND */
  delete(context: Context, name: string): Promise<void>;
  /** The key by which a service with the option `assertion` verifies caller assertions. */
  assertionKey(name: string): Buffer | undefined;
  /** Calls the listener after each change, until the returned function is called. */
  follow(listener: () => void): () => void;
}

export interface PutOptions {
  /** Whether the name must be new. */
  readonly create: boolean;
  /** Whether the earlier descriptors stay, if the service has none. */
  readonly keepDescriptors: boolean;
  /** Whether nothing is written. */
  readonly dryRun: boolean;
}
