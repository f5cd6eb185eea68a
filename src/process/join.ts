/**
 * How a process that has only the role gateway or service joins the authorities, which are other
 * processes.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Authorities } from "../access/follow/authorities.js";
import { OpenGuard } from "../access/guard.js";
import { formatGrpcTarget } from "../address/address.js";
import type { Metadata } from "../call/metadata.js";
import type { Config } from "../config/config.js";
import { ConfigError } from "../config/setting.js";
import { GATEWAY } from "../contract/names.js";
import type { Logger } from "../log.js";
import type { Channel } from "../rpc/channel.js";
import type { Transport } from "../rpc/transport.js";
import { waitAtMost } from "../within.js";
import { connectAuthorities } from "./authorities.js";
import type { Process, ProcessPart } from "./process.js";

/** The connections to the authorities. */
export interface Joined extends ProcessPart {
  /** Leads to any of the authorities. */
  readonly channel: Channel;
  readonly authorities: Authorities;
  /** The metadata with the enrolment token, for calls to the authority and the registry. */
  readonly metadata: Metadata;
  readonly enrolment: string;
  /** Follows the authority's rules, accounts and tokens. */
  readonly guard: OpenGuard;
  /** States the addresses of all authorities in each line. */
  readonly log: Logger;
}

/** How long a start waits for the authority before it continues without it, in milliseconds. */
const AUTHORITY_WAIT_MS = 3_000;
/**
 * Connects to the authorities.
 * @param name of the enrolment: `gateway`, or the service's name
 * @throws {ConfigError} if there is no enrolment token
 */
export async function joinAuthority(
  name: string,
  { config, log: ownLog }: Pick<Process, "config" | "log">,
  transport: Pick<Transport, "connect">,
): Promise<Joined> {
  const enrolment = readEnrolment(name, config);
  const connected = await connectAuthorities({ targets: config.authority, transport, log: ownLog });
  const { authorities } = connected;
  const log = ownLog.child({ authority: config.authority.map(formatGrpcTarget).join(", ") });
  const { channel } = authorities;
  const metadata: Metadata = [["authorization", `Bearer ${enrolment}`]];
  const service = name === GATEWAY ? undefined : name;
  const guard = new OpenGuard({ channel, authorities, metadata, log, service });
  const close = () => guard.close().finally(() => connected.close(0));
  return { channel, authorities, metadata, enrolment, guard, log, close };
}

/**
 * @throws {ConfigError} also for a text that cannot be sent: an authority would close the
 * connection without a reason
 */
export function readEnrolment(name: string, config: Pick<Config, "data" | "enrolment">): string {
  const missing = (why: string): ConfigError =>
    new ConfigError(
      `no enrolment token: ${why}. Create one where the authority runs: portico auth create enrolment ${name}`,
    );
  if (config.enrolment !== undefined) {
    if (isToken(config.enrolment)) return config.enrolment;
    throw missing("PORTICO_ENROLMENT is none");
  }
  const file = join(config.data, "enrolment", name);
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    throw missing(`PORTICO_ENROLMENT is not set, and ${file} cannot be read (${(error as Error).message})`);
  }
  if (isToken(text)) return text;
  throw missing(`PORTICO_ENROLMENT is not set, and ${file} holds none`);
}

/** Whether a text can be a token in metadata. */
function isToken(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

/**
 * Waits until `ready` has settled, because the authority has responded, or AUTHORITY_WAIT_MS has
 * passed.
 */
export function waitForAuthority(ready: Promise<unknown>): Promise<void> {
  return waitAtMost(AUTHORITY_WAIT_MS, ready);
}
