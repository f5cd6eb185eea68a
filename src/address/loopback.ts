/** Loopback: the addresses of this computer that no other computer reaches. */

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

/**
 * Whether a host is `localhost` or a loopback address (RFC 1122 section 3.2.1.3, RFC 4291 section
 * 2.5.3). No name is looked up, and an IPv6 address has its shortest form, without brackets.
 */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether a name is below `localhost`, and so means this computer (RFC 6761 section 6.3). */
export function isBelowLocalhost(name: string): boolean {
  return /^(?:[a-z0-9-]+\.)+localhost$/i.test(name);
}
