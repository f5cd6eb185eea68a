/**
 * The client of a request that came through trusted proxies, as the headers `Forwarded` (RFC 7239) and `X-Forwarded-For` name it.
 * Each proxy adds at the right end by whom it was called, so hops are read from there. What stands left of the first hop that is
 * not a trusted proxy, or cannot be read, may be forged by the client.
 */
import { isIPv6 } from "node:net";
import { canonicalAddress, type TrustedProxies } from "../../src/address/client-address.js";
import { valuesOf } from "./headers.js";

/**
 * The address of the client: the rightmost one that is not a trusted proxy's, else the last that is known.
 *
 * Most proxies write one of the headers and pass on the other as the client sent it. So where both are there and name different
 * clients, neither counts.
 * @param proxy the address at the other end of the connection, which is trusted
 * @param rawHeaders name, value, name, value …
 */
export function forwardedClient(proxy: string, rawHeaders: readonly string[], proxies: TrustedProxies): string {
  const forwarded = clientBy(valuesOf(rawHeaders, "forwarded"), readElement, proxy, proxies);
  const unofficial = clientBy(valuesOf(rawHeaders, "x-forwarded-for"), readUnofficial, proxy, proxies);
  if (forwarded === undefined || unofficial === undefined) return forwarded ?? unofficial ?? proxy;
  return forwarded === unofficial ? forwarded : proxy;
}

/** @returns undefined where the header is not there */
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

/** The entries of a list (RFC 9110 §5.6.1) from the last to the first; empty ones are none. */
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
 * Where the last comma before `end` stands that is not in a quoted string; -1 for none. Read backwards: so what a client has
 * written at the left cannot open a quotation that swallows what a proxy has added.
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

/** A parameter of an element of `Forwarded`, or none (RFC 7239 §4), and what ends it. */
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

/** An address and, behind it, a port or what stands for one (RFC 7239 §6). */
const NODE = /^(?:([\d.]+)|\[([\da-f.]*:[\da-f:.]*)\])(?::(?:\d{1,5}|_[\w.-]+))?$/i;

/** The address of a node; undefined for `unknown` and `_hidden`. */
function readNode(node: string): string | undefined {
  const match = NODE.exec(node);
  return canonicalAddress(match?.[1] ?? match?.[2] ?? "");
}

/** An entry of `X-Forwarded-For`, where IPv6 stands without brackets too. */
function readUnofficial(entry: string): string | undefined {
  return isIPv6(entry) ? canonicalAddress(entry) : readNode(entry);
}
