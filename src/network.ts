/** Which addresses count as one client. */
import { isIPv6 } from "node:net";

/** Whoever has one IPv6 address has all of its /64 (RFC 6177), so these count as one. */
export function networkOf(address: string): string {
  return isIPv6(address) ? network64(address) : address;
}

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
