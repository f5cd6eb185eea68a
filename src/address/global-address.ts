/**
 * Whether an IP address is globally reachable: by IANA's registries of special-purpose addresses
 * (https://www.iana.org/assignments/iana-ipv4-special-registry,
 * https://www.iana.org/assignments/iana-ipv6-special-registry, read 2026-11) and of multicast
 * addresses. A server that fetches what a stranger names must connect to no other address (RFC 9700
 * has no text on this; OWASP calls it server-side request forgery).
 */
import { BlockList, isIP } from "node:net";
import { canonicalAddress } from "./client-address.js";

/** Ranges that are not globally reachable. */
const IPV4: readonly string[] = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  // 192.0.0.9 and .10 are reachable, but nobody publishes documents there.
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
/** Global unicast is 2000::/3; these parts of it are not globally reachable. */
const IPV6: readonly string[] = ["2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20"];
/** IPv4 address in the last 32 bits (RFC 6052): its reachability is the IPv4 address's. */
const NAT64 = "64:ff9b::/96";
/** IPv4 address in the bits 16 to 47 (RFC 3056). */
const SIX_TO_FOUR = "2002::/16";

const [ipv4, ipv6] = [rangesOf(IPV4, "ipv4"), rangesOf(IPV6, "ipv6")];
const unicast = rangesOf(["2000::/3"], "ipv6");
const [nat64, sixToFour] = [rangesOf([NAT64], "ipv6"), rangesOf([SIX_TO_FOUR], "ipv6")];

function rangesOf(ranges: readonly string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", prefix] = range.split("/");
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

/** Whether the address is globally reachable; false for a text that is none. */
export function isGlobalAddress(text: string): boolean {
  const address = canonicalAddress(text);
  if (address === undefined) return false;
  if (isIP(address) === 4) return !ipv4.check(address, "ipv4");
  const inside = embeddedIpv4(address);
  if (inside !== undefined) return isGlobalAddress(inside);
  return unicast.check(address, "ipv6") && !ipv6.check(address, "ipv6");
}

/** The IPv4 address in an address of NAT64 or 6to4. */
function embeddedIpv4(address: string): string | undefined {
  const groups = groupsOf(address);
  if (nat64.check(address, "ipv6")) return dotted(groups[6]!, groups[7]!);
  return sixToFour.check(address, "ipv6") ? dotted(groups[1]!, groups[2]!) : undefined;
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The eight groups of 16 bits of an IPv6 address. */
function groupsOf(address: string): number[] {
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
    [(Number(a) << 8) | Number(b), (Number(c) << 8) | Number(d)].map((group) => group.toString(16)).join(":"),
  );
  const [left = "", right] = text.split("::");
  const parse = (part: string): number[] =>
    part
      .split(":")
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16));
  const [head, tail] = [parse(left), parse(right ?? "")];
  return [...head, ...Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail];
}
