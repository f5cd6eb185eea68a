/** The metadata of a call, and two of its values: the request ID and the timeout. */
import { holdsToken } from "./token.js";

/**
 * Metadata of a call: pairs of lower-case name and value, in order; a name may occur several times.
 * Values of names that end in `-bin` are bytes, all others are printable ASCII. A proxy may join
 * the text values of one name by `, `.
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Custom-Metadata")
 */
export type Metadata = ReadonlyArray<readonly [name: string, value: string | Uint8Array]>;

export const NO_METADATA: Metadata = [];

/**
 * The name of the metadata with the client's IP address. It is trusted only in calls from a gateway
 * or a service.
 */
export const CLIENT_ADDRESS = "x-portico-client-address";

/** The name of the metadata with a caller assertion (src/access/assertions/caller-assertion.ts). */
export const CONTEXT = "x-portico-context";

/** Whether the values of a name are bytes. */
export function isBinaryName(name: string): boolean {
  return name.endsWith("-bin");
}

/** The first text value of a name. */
export function first(metadata: Metadata, name: string): string | undefined {
  for (const [key, value] of metadata) if (key === name && typeof value === "string") return value;
  return undefined;
}

/**
 * The form of a request ID, `x-request-id`, which connects the log lines of gateways and services.
 * The client chooses it and it is logged, so it is used only if it is well-formed.
 */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Whether a text may be a request ID: of limited length and characters, and without a token in it.
 */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text) && !holdsToken(text);
}

/** The request ID of a call; undefined where the caller sent none or a malformed one. */
export function requestIdOf(metadata: Metadata): string | undefined {
  const id = first(metadata, "x-request-id");
  return id !== undefined && isRequestId(id) ? id : undefined;
}

/**
 * The units of grpc-timeout (PROTOCOL-HTTP2.md, "Timeout"): up to eight digits and a unit, such as
 * `500m`.
 */
const UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ["m", 1],
  ["S", 1_000],
  ["M", 60_000],
  ["H", 3_600_000],
];

const MILLISECONDS = new Map([...UNITS, ["u", 0.001], ["n", 0.000_001]] as const);

const MAX_VALUE = 99_999_999;
const ZERO = 0x30;

/**
 * The grpc-timeout for a time, rounded up. The number has at most eight digits and is at least 1:
 * the protocol does not allow `0m`.
 */
export function formatTimeout(milliseconds: number): string {
  for (const [unit, size] of UNITS) {
    const value = Math.max(Math.ceil(milliseconds / size), 1);
    if (value <= MAX_VALUE) return `${value}${unit}`;
  }
  return `${MAX_VALUE}H`;
}

/** @returns milliseconds; undefined for a text that is not a grpc-timeout */
export function parseTimeout(text: string): number | undefined {
  const digits = text.length - 1;
  const size = MILLISECONDS.get(text[digits] ?? "");
  if (size === undefined || digits < 1 || digits > 8) return undefined;
  let value = 0;
  for (let at = 0; at < digits; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return value * size;
}
