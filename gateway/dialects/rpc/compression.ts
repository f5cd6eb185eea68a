/** Compression of messages in gRPC, gRPC-Web and Connect: gzip and br. What is decompressed has a bound. */
import { promisify } from "node:util";
import {
  brotliCompress,
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  gunzipSync,
  gzip,
  gzipSync,
} from "node:zlib";
import { Code, StatusError } from "../../../src/errors.js";

export type Encoding = "gzip" | "br";

/** What is accepted, as a list in headers. */
export const ENCODINGS = "gzip, br";

/** Smallest answer that is compressed, in bytes. */
const MIN_COMPRESSED = 1024;
/** Largest answer that is compressed at once: more would hold up other calls. */
const MAX_AT_ONCE = 64 * 1024;

/**
 * The encoding that a header names; undefined for none.
 * @throws {StatusError} UNIMPLEMENTED for one that is not known here
 */
export function encodingOf(name: string | undefined): Encoding | undefined {
  if (name === undefined || name === "identity") return undefined;
  if (name === "gzip" || name === "br") return name;
  const shown = JSON.stringify(name.slice(0, 32));
  throw new StatusError(Code.UNIMPLEMENTED, `The compression ${shown} is not known here; known are ${ENCODINGS}`);
}

/** The first encoding of a list of accepted ones that is known here. */
export function firstAccepted(list: string | undefined): Encoding | undefined {
  if (list === undefined || list === "identity") return undefined;
  for (const element of list.toLowerCase().split(",")) {
    const [name = "", ...parameters] = element.split(";").map((part) => part.trim());
    if ((name === "gzip" || name === "br") && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) {
      return name;
    }
  }
  return undefined;
}

/** @throws {StatusError} RESOURCE_EXHAUSTED where it would be larger, INVALID_ARGUMENT where it is not so compressed */
export function decompress(encoding: Encoding, bytes: Uint8Array, maxBytes: number): Uint8Array {
  try {
    return (encoding === "gzip" ? gunzipSync : brotliDecompressSync)(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new StatusError(Code.RESOURCE_EXHAUSTED, `The message is larger than ${maxBytes} bytes`);
    }
    throw new StatusError(Code.INVALID_ARGUMENT, `The message is not ${encoding}, as its header says`, { cause });
  }
}

export function isWorthCompressing(message: Uint8Array): boolean {
  return message.length >= MIN_COMPRESSED;
}

/** Fast rather than small: a gateway compresses each answer once. */
const GZIP = { level: 1 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const [gzipLater, brotliLater] = [promisify(gzip), promisify(brotliCompress)];

export function compressAtOnce(encoding: Encoding, message: Uint8Array): Uint8Array {
  return encoding === "gzip" ? gzipSync(message, GZIP) : brotliCompressSync(message, BROTLI);
}

/** Compresses a large message beside other work. */
export function compress(encoding: Encoding, message: Uint8Array): Uint8Array | Promise<Uint8Array> {
  if (message.length <= MAX_AT_ONCE) return compressAtOnce(encoding, message);
  return encoding === "gzip" ? gzipLater(message, GZIP) : brotliLater(message, BROTLI);
}
