/**
 * Converts one message type between canonical proto3 JSON
 * (https://protobuf.dev/programming-guides/json/) and protobuf wire format, without creating a
 * message object in between. compile.ts makes codecs.
 *
 * This room knows neither HTTP nor gRPC.
 */
export interface MessageCodec {
  /**
   * Converts JSON text (UTF-8) to wire bytes. The result is a part of a larger block of memory, so
   * do not store it.
   * @throws {JsonError}
   */
  read(json: Uint8Array): Uint8Array;

  /**
   * Converts wire bytes to JSON text. 64-bit integers are strings. `JsonStyle` has the names of
   * fields, and says whether fields without presence are always written.
   * @throws {TooLargeError}
   * @throws {Error} when the bytes are not a message of the type
   */
  write(wire: Uint8Array): string;

  /**
   * Like `write`, but returns the form that is cheapest to send: a string when the text is short
   * and ASCII, otherwise UTF-8.
   */
  writeBody(wire: Uint8Array): string | Uint8Array;

  /**
   * Converts query parameters to wire bytes: `a.b=1` is nested, a repeated name is a list, `m[k]=v`
   * is a map entry.
   * @throws {JsonError}
   */
  readQuery(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array;
}

/**
 * The JSON is malformed or does not fit the message. The error begins with the path of the field,
 * `record.items[3].price: …`, or with the position, `line 3, column 7: …`. It quotes at most 64
 * characters of the input.
 */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

/**
 * The JSON of a message would exceed a size or memory limit: `the message is larger than 33554432
 * bytes as JSON`.
 */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}
