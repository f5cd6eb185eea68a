/** The gateway as a whole: the catalog that follows the registry, the handler, and the port it listens on. */
import type { Address, Config } from "../src/config.js";
import type { Guard } from "../src/guard.js";
import type { Logger } from "../src/log.js";
import type { Metrics } from "../src/metrics.js";
import { type CatalogOptions, createCatalog } from "./catalog.js";
import { createHandler } from "./handler.js";
import { Health } from "./health.js";
import { listen } from "./listen.js";

export interface GatewayOptions {
  /** How to follow the registry. */
  readonly registry: Pick<CatalogOptions, "channel" | "metadata" | "admission">;
  readonly connect: CatalogOptions["connect"];
  readonly guard: Guard;
  /** Whether the guard can decide now. */
  readonly guardReady: () => boolean;
  readonly config: Config;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Gateway {
  /** Where it listens, with the port that was found for port 0. */
  readonly address: Address;
  readonly health: Health;
  /** Is not ready from now on, accepts no more, and resolves when what was in flight is over or `drainMs` have passed. */
  close(drainMs: number): Promise<void>;
}

/** @throws {Error} (rejects) when the address cannot be had. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { registry, connect, guard, guardReady, config, log } = options;
  const catalog = createCatalog({ ...registry, connect, log });
  const health = new Health({ guard: guardReady, catalog: () => catalog.ready });
  try {
    const door = await listen(createHandler({ ...options, guard, catalog, health }), config.http, config);
    return {
      address: door.address,
      health,
      async close(drainMs) {
        health.leave();
        await door.close(drainMs);
        catalog.close();
      },
    };
  } catch (error) {
    catalog.close();
    throw error;
  }
}
