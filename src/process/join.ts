/** How a gateway or a service alone joins the authority and the registry of another process. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OpenGuard } from "../access/guard.js";
import { formatGrpcTarget } from "../address.js";
import { type Config, ConfigError } from "../config.js";
import type { Logger } from "../log.js";
import type { Channel } from "../rpc/channel.js";
import type { Metadata } from "../rpc/metadata.js";
import type { ProcessContext } from "./context.js";

/** The connection to the authority's process. */
export interface Joined {
  readonly channel: Channel;
  /** The enrolment token, as calls to the authority and the registry carry it. */
  readonly metadata: Metadata;
  readonly enrolment: string;
  /** Follows the authority's rules, accounts and tokens. */
  readonly guard: OpenGuard;
  /** Names the authority's address in each line. */
  readonly log: Logger;
}

/** How long a start waits for the authority before it goes on without it, in milliseconds. */
const AUTHORITY_WAIT_MS = 3_000;
/** How soon a lost authority is connected to again, in milliseconds: within a lease, so that its restart fails no call. */
const AUTHORITY_RECONNECT_MS = 200;

/**
 * Connects to the authority.
 * @param name the enrolment's: `gateway`, or the service's name.
 * @throws {ConfigError} when there is no enrolment token.
 */
export function joinAuthority({ config, log: own, transport, shutdown }: ProcessContext, name: string): Joined {
  const enrolment = readEnrolment(name, config);
  const log = own.child({ authority: formatGrpcTarget(config.authority) });
  const channel = transport.connect(config.authority, { maxReconnectMs: AUTHORITY_RECONNECT_MS });
  shutdown.add(() => channel.close());
  const metadata: Metadata = [["authorization", `Bearer ${enrolment}`]];
  const guard = new OpenGuard({ channel, metadata, log });
  shutdown.add(() => guard.close());
  return { channel, metadata, enrolment, guard, log };
}

function readEnrolment(name: string, config: Config): string {
  if (config.enrolment !== undefined) return config.enrolment;
  const file = join(config.data, "enrolment", name);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new ConfigError(
      `no enrolment token: PORTICO_ENROLMENT is not set, and ${file} cannot be read (${(error as Error).message}). ` +
        `Create one where the authority runs: portico auth create enrolment ${name}`,
    );
  }
}

/** Waits for what the authority sends, for three seconds at most. */
export async function waitForAuthority(ready: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, AUTHORITY_WAIT_MS);
  });
  await Promise.race([ready, late]);
  clearTimeout(timer);
}
