/** Bodies of gRPC-Web in base64, `application/grpc-web-text`: pieces may be padded each for itself. */
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

/** Decodes base64 that arrives in pieces, which may end anywhere. */
export class Base64Decoder {
  /** Characters of a group of four that is not complete. */
  #rest = "";

  /** @throws {HttpError} 400 */
  push(chunk: Buffer): Buffer {
    const text = this.#rest + chunk.toString("latin1");
    const complete = text.length - (text.length % 4);
    this.#rest = text.slice(complete);
    const decoded: Buffer[] = [];
    // Padding in the middle ends a piece that the client encoded for itself.
    for (const part of text.slice(0, complete).match(/[^=]+=*/g) ?? []) {
      if (!BASE64.test(part) || part.length % 4 !== 0) throw malformed();
      decoded.push(Buffer.from(part, "base64"));
    }
    return decoded.length === 1 ? (decoded[0] as Buffer) : Buffer.concat(decoded);
  }

  /** @throws {HttpError} 400 where a group is not complete */
  end(): void {
    if (this.#rest !== "") throw malformed();
  }
}

function malformed(): HttpError {
  return new HttpError(400, "The body is not base64, as its content type says");
}
