/**
 * Converts one message type between canonical proto3 JSON (https://protobuf.dev/programming-guides/json/) and protobuf
 * wire format, without making a message object in between. compile.ts makes codecs.
 *
 * This room knows neither HTTP nor gRPC.
 */
export interface MessageCodec {
  /**
   * Converts JSON text, as UTF-8, to wire bytes: part of a larger block of memory, so do not keep them.
   * @throws {JsonError}
   */
  read(json: Uint8Array): Uint8Array;

  /**
   * Converts wire bytes to JSON text: lowerCamelCase names, 64-bit integers as strings, all fields without presence.
   * @throws {TooLargeError}
   * @throws {Error} when the bytes are not a message of the type
   */
  write(wire: Uint8Array): string;

  /** Like `write`, in the form that costs least to send: a string when the text is short and ASCII, else UTF-8. */
  writeBody(wire: Uint8Array): string | Uint8Array;

  /**
   * Converts query parameters to wire bytes: `a.b=1` is nested, a repeated name is a list, `m[k]=v` a map. @throws {JsonError}
   */
  readQuery(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array;
}

/**
 * The JSON is malformed or does not fit the message. The error begins with the path of the field, `record.items[3].price: …`,
 * or with the position, `line 3, column 7: …`, and quotes at most 64 characters of the input.
 */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

/** The JSON of a message would exceed a limit of size or memory: `the message is larger than 33554432 bytes as JSON`. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}
