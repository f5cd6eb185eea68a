/**
 * Compression of messages in gRPC, gRPC-Web and Connect: gzip and br. Decompression has a size
 * limit.
 */
import { Code, StatusError } from "../../../src/errors.js";
import type { EndpointTarget } from "../../catalog/target.js";
import { DecompressError, decompress, decompressAtOnce, MIN_COMPRESSED } from "../../http/content-coding.js";
import { NO_MEMORY } from "../../http/errors.js";
import type { GatewayRequest } from "../../http/message.js";

export type ContentCoding = "gzip" | "br";

/** The accepted encodings, as a list in headers. */
export const ENCODINGS = "gzip, br";

/**
 * The encoding that a header names; undefined for none.
 * @throws {StatusError} UNIMPLEMENTED for an encoding that the gateway does not support
 */
export function encodingOf(name: string | undefined): ContentCoding | undefined {
  if (name === undefined || name === "identity") return undefined;
  if (name === "gzip" || name === "br") return name;
  const shown = JSON.stringify(name.slice(0, 32));
  throw new StatusError(Code.UNIMPLEMENTED, `The compression ${shown} is not known here; known are ${ENCODINGS}`);
}

/** The first encoding of a list of accepted encodings that the gateway supports. */
export function firstAccepted(list: string | undefined): ContentCoding | undefined {
  if (list === undefined || list === "identity") return undefined;
  for (const element of list.toLowerCase().split(",")) {
    const [name = "", ...parameters] = element.split(";").map((part) => part.trim());
    if ((name === "gzip" || name === "br") && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) {
      return name;
    }
  }
  return undefined;
}

/**
 * Decompresses the only message of a body.
 * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED if it would be too large, INVALID_ARGUMENT if
 * it is not compressed in this encoding
 * @throws {HttpError} (rejects) 503 if there is no memory for it
 */
export async function decompressBody(
  request: GatewayRequest,
  encoding: ContentCoding,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<Uint8Array> {
  let message: Uint8Array | undefined;
  try {
    message = await decompress(encoding, bytes, maxBytes, (size) => request.tryReserveBody(size));
  } catch (thrown) {
    throw toStatusError(thrown, encoding, maxBytes);
  }
  if (message === undefined) throw NO_MEMORY;
  return message;
}

/**
 * Maximum bytes of a decompressed message from a query. Queries are decompressed synchronously, so
 * a larger message would delay other calls; it must be sent in a body.
 */
const MAX_IN_QUERY = 256 * 1024;

/** Decompresses the message of a query. @throws {StatusError} like `decompressBody` */
export function decompressQuery(encoding: ContentCoding, bytes: Uint8Array, maxMessage: number): Uint8Array {
  const maxBytes = Math.min(maxMessage, MAX_IN_QUERY);
  try {
    return decompressAtOnce(encoding, bytes, maxBytes);
  } catch (thrown) {
    throw toStatusError(thrown, encoding, maxBytes);
  }
}

function toStatusError(thrown: unknown, encoding: ContentCoding, maxBytes: number): unknown {
  if (!(thrown instanceof DecompressError)) return thrown;
  if (thrown.reason === "too large") {
    return new StatusError(Code.RESOURCE_EXHAUSTED, `The message is larger than ${maxBytes} bytes`);
  }
  const message = `The message is not ${encoding}, as its header says`;
  return new StatusError(Code.INVALID_ARGUMENT, message, { cause: thrown });
}

/**
 * Whether a message of the target is compressed: it must not be small, and must have no secret (see
 * stages/compress.ts).
 */
export function isWorthCompressing(message: Uint8Array, target: EndpointTarget): boolean {
  return message.length >= MIN_COMPRESSED && !target.hasSecrets;
}
