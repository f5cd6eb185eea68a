/**
 * The values of messages in canonical proto3 JSON. Requests accept more forms than responses have.
 */

/**
 * A 64-bit integer in a response: its digits, because a number would round it beyond 53 bits.
 * `BigInt(text)` converts it for calculations.
 */
export type Int64 = string;
export type Int64Input = bigint | number | string;
/** A float or double in a response. `Number(value)` converts it for calculations. */
export type Float = number | "NaN" | "Infinity" | "-Infinity";
export type FloatInput = number | string;
/** Bytes in a response, in base64. `toBytes(text)` decodes them. */
export type Bytes = string;
export type BytesInput = Uint8Array | string;
/**
 * A time in a response, such as `2026-01-31T12:00:00.123456789Z`. `new Date(text)` keeps its
 * milliseconds.
 */
export type Timestamp = string;
export type TimestampInput = Date | string;
/** Seconds, such as `1.5s`. */
export type Duration = string;
/** Names of fields in lowerCamelCase, separated by commas, such as `name,address.street`. */
export type FieldMask = string;
/** Any JSON value. */
export type JsonValue = unknown;
/** Any JSON object. */
export type JsonObject = { readonly [name: string]: unknown };
/**
 * A message of any type of the service. `@type` is the name of the type, such as
 * `type.googleapis.com/helloworld.CallRequest`.
 */
export type AnyMessage = { readonly "@type": string; readonly [name: string]: unknown };

/** The response of an endpoint that returns raw bytes (`google.api.HttpBody`). */
export interface HttpBody {
  /** For example `image/png`. */
  readonly contentType: string;
  readonly data: Uint8Array;
}
/** Raw bytes to send. A Blob may be a file. */
export interface HttpBodyInput {
  readonly contentType: string;
  readonly data: Uint8Array | Blob;
}

/** The bytes of a bytes field in a response. */
export function toBytes(base64: Bytes): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** A request as JSON text. */
export function toJson(request: unknown): string {
  return JSON.stringify(request ?? {}, function (this: { readonly [name: string]: unknown }, name, value) {
    const given = this[name]; // A Buffer's toJSON would write a list of numbers.
    if (given instanceof Uint8Array) return toBase64(given);
    if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) return String(value);
    return value;
  });
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
