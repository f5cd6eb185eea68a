/**
 * The proxies in front of Portico, by address: the setting `PORTICO_TRUSTED_PROXIES`. A connection from one of them
 * carries the requests of many clients, so a bound that holds for each client address does not hold for it.
 */
import { BlockList, isIP } from "node:net";

/** A set of IP addresses and CIDR ranges (RFC 4632, RFC 4291 §2.3). */
export class TrustedProxies {
  readonly #ranges = new BlockList();
  /** Whether none is trusted; then `has` need not be asked. */
  readonly empty: boolean;

  private constructor(ranges: readonly Range[]) {
    this.empty = ranges.length === 0;
    for (const { address, family, prefix } of ranges) this.#ranges.addSubnet(address, prefix, family);
  }

  /**
   * Reads `10.0.0.0/8, 192.0.2.7, fd00::/8`, or `none`.
   * @throws {SyntaxError} saying what is accepted.
   */
  static parse(text: string): TrustedProxies {
    return new TrustedProxies(text === "none" ? [] : text.split(",").map((range) => readRange(range.trim())));
  }

  /**
   * Whether a socket's `remoteAddress` is one of them. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as the IPv4
   * address; a zone (`fe80::1%eth0`) is not compared; what is no address is not trusted.
   */
  has(address: string): boolean {
    if (this.empty) return false;
    const zone = address.indexOf("%");
    const plain = zone < 0 ? address : address.slice(0, zone);
    const family = isIP(plain);
    return family !== 0 && this.#ranges.check(plain, family === 4 ? "ipv4" : "ipv6");
  }
}

interface Range {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  /** Bits of the address that count. */
  readonly prefix: number;
}

function readRange(text: string): Range {
  const [address = "", prefix, ...rest] = text.split("/");
  const family = address.includes("%") ? 0 : isIP(address);
  const bits = family === 4 ? 32 : 128;
  const valid = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (family === 0 || rest.length > 0 || !valid) {
    throw new SyntaxError(`must be none, or addresses and CIDR ranges such as 10.0.0.0/8 or fd00::1 (not "${text}")`);
  }
  return { address, family: family === 4 ? "ipv4" : "ipv6", prefix: prefix === undefined ? bits : Number(prefix) };
}
