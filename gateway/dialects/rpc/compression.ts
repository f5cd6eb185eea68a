/** Compression of messages in gRPC, gRPC-Web and Connect: gzip and br. What is decompressed has a bound. */
import { Code, StatusError } from "../../../src/errors.js";
import type { Target } from "../../catalog/target.js";
import { type DecompressError, decompressAtOnce, MIN_COMPRESSED } from "../../content-coding.js";

export type Encoding = "gzip" | "br";

/** What is accepted, as a list in headers. */
export const ENCODINGS = "gzip, br";

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
    return decompressAtOnce(encoding, bytes, maxBytes);
  } catch (cause) {
    if ((cause as DecompressError).reason === "too large") {
      throw new StatusError(Code.RESOURCE_EXHAUSTED, `The message is larger than ${maxBytes} bytes`);
    }
    throw new StatusError(Code.INVALID_ARGUMENT, `The message is not ${encoding}, as its header says`, { cause });
  }
}

/** Whether a message of the target is compressed: it is not small, and has no secret (see stages/compress.ts). */
export function isWorthCompressing(message: Uint8Array, target: Target): boolean {
  return message.length >= MIN_COMPRESSED && !target.hasSecrets;
}
