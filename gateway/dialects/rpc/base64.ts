/**
 * Bodies of gRPC-Web in base64, `application/grpc-web-text`. A body may be several base64 texts in
 * a row, each with its own padding.
 */
import { HttpError } from "../../http/errors.js";

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export function encodeBase64(bytes: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"), "latin1");
}

/** @throws {HttpError} 400 */
export function decodeBase64(text: Buffer): Buffer {
  const decoder = new Base64Decoder();
  const bytes = decoder.push(text);
  decoder.end();
  return bytes;
}

/** Decodes base64 that arrives in chunks, which may end anywhere. */
export class Base64Decoder {
  /** Characters of an incomplete group of four. */
  #rest = "";

  /** @throws {HttpError} 400 */
  push(chunk: Buffer): Buffer {
    const text = this.#rest + chunk.toString("latin1");
    const complete = text.length - (text.length % 4);
    this.#rest = text.slice(complete);
    const decoded: Buffer[] = [];
    // Padding in the middle ends a part that the client encoded separately.
    for (const part of text.slice(0, complete).match(/[^=]+=*/g) ?? []) {
      if (!BASE64.test(part) || part.length % 4 !== 0) throw malformed();
      decoded.push(Buffer.from(part, "base64"));
    }
    return decoded.length === 1 ? (decoded[0] as Buffer) : Buffer.concat(decoded);
  }

  /** @throws {HttpError} 400 if a group is incomplete */
  end(): void {
    if (this.#rest !== "") throw malformed();
  }
}

function malformed(): HttpError {
  return new HttpError(400, "The body is not base64, as its content type says");
}
