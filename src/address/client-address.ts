/**
 * Which client an IP address belongs to. Limits for each client count an IPv6 network as one
 * client. They do not apply to a trusted proxy, because its connections carry the requests of many
 * clients.
 */
import { BlockList, isIP, isIPv6, type Socket, SocketAddress } from "node:net";

/**
 * The network of a client: an IPv4 address itself, or the /64 of an IPv6 address, which belongs to
 * one customer (RFC 6177).
 */
export function networkOf(address: string): string {
  const groups = NETWORK.exec(address);
  if (groups !== null) return groups[0].slice(0, -1);
  return isIPv6(address) ? network64(address) : address;
}

/** An IPv6 address that begins with its network: the usual case, for which nothing is computed. */
const NETWORK = /^(?:(?:0|[1-9a-f][0-9a-f]{0,3}):){4}/;

function network64(address: string): string {
  if (address.includes(".")) return address; // An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2).
  const [head = "", tail] = address.split("::");
  const left = head.split(":").filter(Boolean);
  const right = tail?.split(":").filter(Boolean) ?? [];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}

/**
 * Converts an IP address that another program has sent to its only form in logs, limits and
 * metadata: IPv6 as in RFC 5952 §4, an IPv4-mapped address as the IPv4 address.
 * @returns undefined for any other text, and for an address with a zone
 */
export function canonicalAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family !== 6) return family === 4 ? text : undefined;
  if (text.includes("%")) return undefined;
  const { address } = new SocketAddress({ address: text, family: "ipv6" });
  return address.startsWith(MAPPED) && address.includes(".") ? address.slice(MAPPED.length) : address;
}

/**
 * The IP address at the other end of a socket, in that form: a socket that listens for both
 * families names its clients with IPv4 by mapped addresses. Undefined where there is none.
 */
export function peerAddressOf({ remoteAddress }: Pick<Socket, "remoteAddress">): string | undefined {
  if (remoteAddress?.startsWith(MAPPED) !== true) return remoteAddress;
  return canonicalAddress(remoteAddress) ?? remoteAddress;
}

/** The start of an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2). */
const MAPPED = "::ffff:";
const MAPPED_BITS = 96;

/** A set of IP addresses and CIDR ranges (RFC 4632, RFC 4291 §2.3). */
export class AddressRanges {
  /** As given. */
  readonly texts: readonly string[];
  readonly #ranges = new BlockList();

  /** @throws {SyntaxError} with the accepted forms */
  constructor(texts: readonly string[]) {
    this.texts = texts;
    for (const { address, family, prefix } of texts.map(readRange)) this.#ranges.addSubnet(address, prefix, family);
  }

  /**
   * Whether an address is in the set. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as the
   * IPv4 address. A zone (`fe80::1%eth0`) is not compared. A text that is not an address is in no
   * set.
   */
  has(address: string): boolean {
    const zone = address.indexOf("%");
    const plain = zone < 0 ? address : address.slice(0, zone);
    const family = isIP(plain);
    return family !== 0 && this.#ranges.check(plain, family === 4 ? "ipv4" : "ipv6");
  }
}

/** The peers of a Unix socket, which have no IP address, count as this one client address. */
export const UNIX_PEER = "unix";

/**
 * The proxies in front of Portico, from the setting `PORTICO_TRUSTED_PROXIES`.
 */
export class TrustedProxies {
  readonly #ranges: AddressRanges;
  readonly #unix: boolean;
  /** Whether no proxy is trusted; then `has` need not be called. */
  readonly empty: boolean;

  private constructor(texts: readonly string[]) {
    this.empty = texts.length === 0;
    this.#unix = texts.includes(UNIX_PEER);
    this.#ranges = new AddressRanges(texts.filter((text) => text !== UNIX_PEER));
  }

  /**
   * Reads `10.0.0.0/8, 192.0.2.7, fd00::/8, unix`, or `none`.
   * @throws {SyntaxError} with the accepted forms
   */
  static parse(text: string): TrustedProxies {
    try {
      return new TrustedProxies(text === "none" ? [] : text.split(",").map((range) => range.trim()));
    } catch (error) {
      throw new SyntaxError((error as Error).message.replace("must be", "must be none, unix, or"), { cause: error });
    }
  }

  /** Whether a socket's `remoteAddress`, or the peer of a Unix socket, is a trusted proxy. */
  has(address: string): boolean {
    return !this.empty && (address === UNIX_PEER ? this.#unix : this.#ranges.has(address));
  }
}

interface Range {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  /** Bits of the network part. */
  readonly prefix: number;
}

function readRange(text: string): Range {
  const [address = "", prefix, ...rest] = text.split("/");
  const family = address.includes("%") ? 0 : isIP(address);
  const bits = family === 4 ? 32 : 128;
  const valid = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (family === 0 || rest.length > 0 || !valid) {
    throw new SyntaxError(`must be addresses and CIDR ranges such as 10.0.0.0/8 or fd00::1 (not "${text}")`);
  }
  const length = prefix === undefined ? bits : Number(prefix);
  const canonical = canonicalAddress(address) as string;
  const isMapped = family === 6 && isIP(canonical) === 4 && length >= MAPPED_BITS;
  if (isMapped) return { address: canonical, family: "ipv4", prefix: length - MAPPED_BITS };
  return { address, family: family === 4 ? "ipv4" : "ipv6", prefix: length };
}
