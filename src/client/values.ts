/**
 * The values of messages in canonical proto3 JSON. Requests accept more forms than responses have.
 */

/** A 64-bit integer in a response. A number would round it beyond 53 bits. */
export type Int64 = bigint;
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

/**
 * Where 64-bit integers are: for each message that has some, the fields that lead to them. The type
 * of a field is `Int64`, or the name of a message. For a map it is the type of the values in
 * braces: `{Int64}`.
 */
export interface Int64Table {
  readonly [message: string]: readonly (readonly [field: string, type: string])[];
}

/**
 * Replaces the digits of each 64-bit integer in a parsed value with a bigint, in place.
 * @throws {Error} when there is no integer, or one that JSON.parse has rounded
 */
export function withBigints(value: unknown, [type, table]: readonly [type: string, table: Int64Table]): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) return value.map((one) => withBigints(one, [type, table]));
  if (type === "Int64") {
    if (typeof value === "string" || Number.isSafeInteger(value)) return BigInt(value as string | number);
    throw new RangeError(`${JSON.stringify(value)} is not a 64-bit integer in quotes`);
  }
  const fields = type.startsWith("{")
    ? Object.keys(value).map((key) => [key, type.slice(1, -1)] as const)
    : (table[type] ?? []);
  const parts = value as Record<string, unknown>;
  for (const [field, type] of fields) {
    if (Object.hasOwn(parts, field)) parts[field] = withBigints(parts[field], [type, table]);
  }
  return value;
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
