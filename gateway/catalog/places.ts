/**
 * The places of an instance: every address where it can be called, with its share of the calls. One
 * address of an instance may have several places: a host name with several IP addresses, or an SRV
 * name with several servers.
 */
import { hostNameOf, type ResolvedNames } from "../../src/address/resolved-names.js";
import { isSrvName, readServer } from "../../src/address/srv.js";
import { EQUAL, type Share } from "../../src/rpc/shares.js";

export interface Place {
  readonly address: string;
  /** One of the IP addresses of the host, if it has several. */
  readonly ip: string | undefined;
  /** Its share of the calls of its instance. */
  readonly share: Share;
}

/** The known addresses of names. */
type Names = Pick<ResolvedNames, "addressesOf">;

export function placesOf(addresses: Iterable<string>, names: Names): Place[] {
  return [...addresses].flatMap((address): Place[] => {
    if (!isSrvName(address)) return placesAt(address, EQUAL, names);
    return serversOf(address, names).flatMap((server) => placesAt(server.address, server, names));
  });
}

/** The names that must be resolved to know the places of an address. */
export function namesIn(addresses: Iterable<string>, names: Names): string[] {
  return [...addresses].flatMap((address) => {
    if (!isSrvName(address)) return hostNameOf(address) ?? [];
    return [address, ...serversOf(address, names).flatMap((server) => hostNameOf(server.address) ?? [])];
  });
}

function placesAt(address: string, { weight, priority }: Share, names: Names): Place[] {
  const host = hostNameOf(address);
  const ips = host === undefined ? [] : names.addressesOf(host);
  const share = (count: number): Share => ({ weight: weight / count, priority });
  if (ips.length < 2) return [{ address, ip: undefined, share: share(1) }];
  return ips.map((ip) => ({ address, ip, share: share(ips.length) }));
}

/**
 * The servers of an SRV name. A server of weight 0 gets a call only rarely while others have more
 * (RFC 2782); where all have weight 0, they are equal.
 */
function serversOf(name: string, names: Names): (Share & { readonly address: string })[] {
  const servers = names.addressesOf(name).map(readServer);
  const priorities = [...new Set(servers.map(({ priority }) => priority))].sort((one, other) => one - other);
  return servers.map(({ address, weight, priority }) => {
    const rest = servers.some((other) => other.priority === priority && other.weight > 0) ? RARELY : 1;
    return { address, weight: weight || rest, priority: priorities.indexOf(priority) };
  });
}

/** The weight of a server of weight 0 beside others. */
const RARELY = 0.01;

/** The key of an instance's place, among all places of a service. */
export function keyOf(id: string, { address, ip }: Pick<Place, "address" | "ip">): string {
  return ip === undefined ? `${id} ${address}` : `${id} ${address} ${ip}`;
}

interface Weighted {
  readonly id: string;
  readonly addresses: ReadonlySet<string>;
  readonly weight: number;
}

/**
 * The share of each place of a service, by its key. Instances of one weight share the calls
 * equally, place by place. Where the weights differ, the places of an instance share its weight.
 */
export function sharesOf(instances: readonly Weighted[], names: Names): Map<string, Share> {
  const isWeighted = new Set(instances.map(({ weight }) => weight)).size > 1;
  const shares = new Map<string, Share>();
  for (const { id, addresses, weight } of instances) {
    const places = placesOf(addresses, names);
    for (const place of places) {
      const { priority, weight: own } = place.share;
      const equals = places.filter(({ share }) => share.priority === priority);
      const sum = equals.reduce((all, { share }) => all + share.weight, 0);
      const isEqual = !isWeighted && equals.every(({ share }) => share.weight === own);
      shares.set(keyOf(id, place), { weight: isEqual ? 1 : (weight * own) / sum, priority });
    }
  }
  return shares;
}
