/**
 * Connects a process to the authorities of PORTICO_AUTHORITY. It opens a channel to each; if a host
 * name has several addresses, it opens a channel to each address. The names are resolved again at
 * intervals, and the channels are updated.
 */
import { Authorities, type AuthorityLink } from "../access/follow/authorities.js";
import { formatGrpcTarget, type GrpcTarget } from "../address/address.js";
import { hostNameOf, type Lookup, lookupAll, ResolvedNames } from "../address/resolved-names.js";
import type { Logger } from "../log.js";
import type { Channel } from "../rpc/channel.js";
import type { Transport } from "../rpc/transport.js";
import type { ProcessPart } from "./process.js";

/**
 * The longest pause before a lost authority is connected to again, in milliseconds. It is shorter
 * than a lease, so a restart of the authority fails no call.
 */
const RECONNECT_MS = 200;
/** Time between two rounds of name resolution, in milliseconds. */
const RESOLVE_MS = 5_000;
/** If all addresses are connected, names are resolved only in every sixth round. */
const ROUNDS = 6;
/** How long guards have to leave an authority after its address was removed, in milliseconds. */
const LEAVE_MS = 10_000;

export interface AuthorityConnectOptions {
  readonly targets: readonly GrpcTarget[];
  readonly transport: Pick<Transport, "connect">;
  readonly log: Logger;
  /** Resolves a host name; default: as the operating system does. */
  readonly lookup?: Lookup;
  /** Time between two rounds of name resolution, in milliseconds; default 5 s. */
  readonly resolveMs?: number;
}

interface Place {
  readonly name: string;
  readonly target: GrpcTarget;
  /** The address to connect to, if the host name has several. */
  readonly ip: string | undefined;
}

/**
 * Resolves when the names have been resolved once, or have failed to. It does not wait for
 * connections. Closing the result closes the connections.
 */
export async function connectAuthorities(
  options: AuthorityConnectOptions,
): Promise<ProcessPart & { authorities: Authorities }> {
  const { targets, transport, log, lookup = lookupAll, resolveMs = RESOLVE_MS } = options;
  const known = new Map<string, AuthorityLink>();
  let authorities: Authorities | undefined;
  const names = new ResolvedNames(lookup, log, () => authorities?.set(connectAll()));
  const hosts = new Set(targets.flatMap((target) => hostNameOf(formatGrpcTarget(target)) ?? []));
  const placesOf = (target: GrpcTarget): Place[] => {
    const name = formatGrpcTarget(target);
    const host = hostNameOf(name);
    const ips = host === undefined ? [] : names.addressesOf(host);
    if (ips.length < 2) return [{ name, target, ip: undefined }];
    return ips.map((ip) => ({ name: `${name} (${ip})`, target, ip }));
  };
  const connectAll = (): AuthorityLink[] => {
    const places = targets.flatMap(placesOf);
    for (const [name, { channel }] of known) {
      if (places.some((place) => place.name === name)) continue;
      known.delete(name);
      closeLater(channel);
    }
    return places.map(({ name, target, ip }) => {
      let authority = known.get(name);
      if (authority === undefined) {
        const channel = transport.connect(target, { maxReconnectMs: RECONNECT_MS, ip });
        authority = { name, channel, log: log.child({ authority: name }) };
        known.set(name, authority);
      }
      return authority;
    });
  };
  await Promise.all([...hosts].map((host) => names.resolve(host)));
  authorities = new Authorities(connectAll());
  let rounds = 0;
  const resolving = setInterval(() => {
    const isReached = (): boolean => [...known.values()].every(({ channel }) => channel.state === "ready");
    if (rounds++ % ROUNDS === 0 || !isReached()) for (const host of hosts) void names.resolve(host);
  }, resolveMs).unref();
  const close = (): void => {
    clearInterval(resolving);
    for (const { channel } of known.values()) channel.close();
  };
  return { authorities, close };
}

function closeLater(channel: Channel): void {
  setTimeout(() => channel.close(), LEAVE_MS).unref();
}
