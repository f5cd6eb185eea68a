/**
 * Finds the client of a request that came through trusted proxies, by the headers `Forwarded` (RFC
 * 7239) and `X-Forwarded-For`.
 *
 * Each proxy appends the address that called it, so the hops are read from the right. The client
 * may have forged what stands to the left of the first hop that is not a trusted proxy or cannot be
 * parsed.
 */
import { isIPv6 } from "node:net";
import { canonicalAddress, type TrustedProxies } from "../../src/address/client-address.js";
import { valuesOf } from "./headers.js";

/**
 * The address of the client: the rightmost address that is not a trusted proxy. If there is none:
 * the last address that was read.
 *
 * Most proxies write one of the two headers and pass on the other as the client sent it. So where
 * both are present and name different clients, both are ignored.
 * @param proxy the address at the other end of the connection, which is trusted
 * @param rawHeaders name, value, name, value …
 */
export function forwardedClient(proxy: string, rawHeaders: readonly string[], proxies: TrustedProxies): string {
  const forwarded = clientBy(valuesOf(rawHeaders, "forwarded"), readElement, proxy, proxies);
  const unofficial = clientBy(valuesOf(rawHeaders, "x-forwarded-for"), readUnofficial, proxy, proxies);
  if (forwarded === undefined || unofficial === undefined) return forwarded ?? unofficial ?? proxy;
  return forwarded === unofficial ? forwarded : proxy;
}

/** @returns undefined where the header is absent */
function clientBy(
  values: readonly string[],
  read: (entry: string) => string | undefined,
  proxy: string,
  proxies: TrustedProxies,
): string | undefined {
  if (values.length === 0) return undefined;
  let known = proxy;
  for (const entry of fromTheRight(values)) {
    const address = read(entry);
    if (address === undefined) return known;
    known = address;
    if (!proxies.has(address)) return known;
  }
  return known;
}

/**
 * The entries of a list (RFC 9110 §5.6.1) from the last to the first; empty entries are skipped.
 */
function* fromTheRight(values: readonly string[]): Generator<string> {
  for (let index = values.length - 1; index >= 0; index--) {
    const value = values[index] as string;
    for (let end = value.length; end >= 0; ) {
      const comma = commaBefore(value, end);
      const entry = value.slice(comma + 1, end).trim();
      if (entry !== "") yield entry;
      end = comma;
    }
  }
}

/**
 * The index of the last comma before `end` that is not in a quoted string; -1 for none. The value
 * is read backwards, so that text of the client at the left cannot open a quoted string that
 * contains the entry of a proxy.
 */
function commaBefore(value: string, end: number): number {
  let quoted = false;
  for (let at = end - 1; at >= 0; at--) {
    const character = value[at];
    if (character === '"' && !(quoted && isEscaped(value, at))) quoted = !quoted;
    else if (character === "," && !quoted) return at;
  }
  return -1;
}

/** Whether an odd number of backslashes stands before a quotation mark (RFC 9110 §5.6.4). */
function isEscaped(value: string, at: number): boolean {
  let backslashes = 0;
  while (value[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

/**
 * A parameter of an element of `Forwarded` (RFC 7239 §4), which may be empty, and the semicolon or
 * the end of the element after it.
 */
const PAIR = /[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*(?:;|$)/y;

/** The address of an element of `Forwarded`; undefined where it names none, or more than one. */
function readElement(element: string): string | undefined {
  let node: string | undefined;
  for (PAIR.lastIndex = 0; PAIR.lastIndex < element.length; ) {
    const match = PAIR.exec(element);
    if (match === null) return undefined;
    const [, name, token, quoted] = match;
    if (name?.toLowerCase() !== "for") continue;
    if (node !== undefined) return undefined;
    node = token ?? quoted?.replace(/\\(.)/g, "$1");
  }
  return node === undefined ? undefined : readNode(node);
}

/** An address, followed by an optional port or obfuscated port (RFC 7239 §6). */
const NODE = /^(?:([\d.]+)|\[([\da-f.]*:[\da-f:.]*)\])(?::(?:\d{1,5}|_[\w.-]+))?$/i;

/** The address of a node; undefined for `unknown` and `_hidden`. */
function readNode(node: string): string | undefined {
  const match = NODE.exec(node);
  return canonicalAddress(match?.[1] ?? match?.[2] ?? "");
}

/** Reads an entry of `X-Forwarded-For`, where IPv6 addresses may also stand without brackets. */
function readUnofficial(entry: string): string | undefined {
  return isIPv6(entry) ? canonicalAddress(entry) : readNode(entry);
}
