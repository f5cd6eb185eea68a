/**
 * Names of services in DNS (SRV records, RFC 2782), as targets of configured services:
 * `dns+srv://_grpc._tcp.shop.example`, and `dns+srvs://` for servers with TLS. A record names a
 * server with its port, a priority and a weight.
 */
import { Resolver } from "node:dns/promises";
import { formatAddress, formatGrpcTarget, type GrpcTarget, parseGrpcTarget } from "./address.js";
import { isLoopback } from "./loopback.js";
import { type Lookup, lookupAll } from "./resolved-names.js";

/** A name with SRV records. */
export interface SrvName {
  readonly srv: string;
  readonly tls?: true;
}

/** Where a configured service is: a server, or a name for all its servers. */
export type ServiceTarget = GrpcTarget | SrvName;

/** A server of an SRV name. */
export interface SrvServer {
  /** In the form that `parseGrpcTarget` reads. */
  readonly address: string;
  readonly priority: number;
  readonly weight: number;
}

const PLAIN = "dns+srv://";
const TLS = "dns+srvs://";
const NAME = /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})+$/;

/**
 * The time for a name server to respond, in milliseconds, and the number of attempts. Together they
 * take less time than the pause between lookups.
 */
const QUERY = { timeout: 1_000, tries: 2 } as const;

/** The form that `parseServiceTarget` reads. */
export function formatServiceTarget(target: ServiceTarget): string {
  return "srv" in target ? `${target.tls ? TLS : PLAIN}${target.srv}` : formatGrpcTarget(target);
}

/**
 * Reads what `parseGrpcTarget` reads, `dns+srv://name` or `dns+srvs://name`.
 * @throws {SyntaxError} with the accepted forms
 */
export function parseServiceTarget(text: string): ServiceTarget {
  if (!isSrvName(text)) return parseGrpcTarget(text);
  const tls = text.startsWith(TLS);
  const srv = text.slice((tls ? TLS : PLAIN).length);
  if (!NAME.test(srv)) throw new SyntaxError("must be dns+srv:// and a name, such as _grpc._tcp.shop.example");
  return tls ? { srv, tls } : { srv };
}

/**
 * Whether others on the network can neither read nor change what is sent to a target: it has TLS,
 * or is on this computer.
 */
export function isPrivate(target: ServiceTarget): boolean {
  if ("path" in target || target.tls) return true;
  return "host" in target && isLoopback(target.host);
}

/** Whether a target is an SRV name. */
export function isSrvName(text: string): boolean {
  return text.startsWith(PLAIN) || text.startsWith(TLS);
}

/**
 * Looks up host names and SRV names. Each record of an SRV name becomes one text, which
 * `readServer` reads.
 * @param resolver asks name servers; default: the name servers of the operating system
 * @param lookup for host names
 */
export function lookupBoth(resolver = new Resolver(QUERY), lookup: Lookup = lookupAll): Lookup {
  return async (name) => {
    if (!isSrvName(name)) return lookup(name);
    const { srv, tls } = parseServiceTarget(name) as SrvName;
    const records = await resolver.resolveSrv(srv);
    // The name `.` says that there is no server (RFC 2782).
    const servers = records.filter((record) => record.name !== "" && record.name !== ".");
    return servers.map(({ priority, weight, name: host, port }) => {
      const address = formatAddress({ host, port });
      return `${priority} ${weight} ${tls ? "grpcs://" : ""}${address}`;
    });
  };
}

/** The maximum number of servers of an SRV name that are tried when one of them is enough. */
const MAX_TRIED = 4;

/**
 * The servers of a target: itself, or the first ones of an SRV name by priority.
 * @throws {Error} (rejects) if the name has none
 */
export async function serversOf(target: ServiceTarget, lookup = lookupBoth()): Promise<readonly GrpcTarget[]> {
  if (!("srv" in target)) return [target];
  const servers = (await lookup(formatServiceTarget(target))).map(readServer);
  if (servers.length === 0) throw new Error(`${target.srv} has no SRV record that names a server`);
  const sorted = servers.sort((one, other) => one.priority - other.priority || other.weight - one.weight);
  return sorted.slice(0, MAX_TRIED).map(({ address }) => parseGrpcTarget(address));
}

/** Reads what `lookupBoth` found for an SRV name. */
export function readServer(text: string): SrvServer {
  const [priority, weight, address = ""] = text.split(" ");
  return { priority: Number(priority), weight: Number(weight), address };
}
