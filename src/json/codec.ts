/**
 * Canonical proto3 JSON (https://protobuf.dev/programming-guides/json/) to protobuf wire bytes and back, for one
 * message type. Everything a type needs is worked out once, when its codec is made.
 */
export interface Codec {
  /**
   * JSON text, as UTF-8, to wire bytes, which are part of a larger block of memory: read them, and let them go.
   * @throws {JsonError}
   */
  read(json: Uint8Array): Uint8Array;

  /**
   * Wire bytes to JSON text: lowerCamelCase names, fields without presence always there, 64-bit integers as strings.
   * @throws {TooLargeError}
   * @throws {Error} when the bytes are not a message of the type.
   */
  write(wire: Uint8Array): string;

  /**
   * The same text as what costs least to send: a string when it is short and ASCII, else UTF-8.
   * @throws {TooLargeError}
   * @throws {Error} when the bytes are not a message of the type.
   */
  writeBody(wire: Uint8Array): string | Uint8Array;

  /**
   * Query parameters to wire bytes: `a.b=1` nested, repeated names, `m[k]=v`; leaf values as in JSON.
   * @throws {JsonError}
   */
  readQuery(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array;
}

/**
 * JSON that does not fit the message. Its text starts with the path of the field, `record.items[3].price: …`, or where
 * the text is no JSON, with the place, `line 3, column 7: …`. It repeats at most 64 characters of the input.
 */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

/** A message that takes too much to write as JSON, whatever it says: `the message is larger than 33554432 bytes as JSON`. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}
