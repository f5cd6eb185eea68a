/**
 * Request bodies with a content coding (RFC 9110 §8.4). They are decompressed when the whole body
 * has arrived.
 */
import { CODING_LIST, type Coding, codingNamed, DecompressError, decompress } from "./content-coding.js";
import { HttpError, NO_MEMORY } from "./errors.js";
import type { RequestHeaders } from "./headers.js";
import type { GatewayRequest, GatewayRequestHead } from "./message.js";

/**
 * The coding of a request's body; undefined for none.
 * @throws {HttpError} 415 for an unknown coding
 */
export function codingOf({ contentEncoding }: RequestHeaders): Coding | undefined {
  if (contentEncoding === undefined) return undefined;
  const name = contentEncoding.trim().toLowerCase();
  if (name === "identity") return undefined;
  const coding = codingNamed(name);
  if (coding !== undefined) return coding;
  const shown = JSON.stringify(contentEncoding.slice(0, 32));
  // In a 415 response this header lists the codings that a request may have (RFC 9110 §12.5.3).
  throw new HttpError(415, `The Content-Encoding ${shown} is not known here; known are ${CODING_LIST}`, {
    headers: ["Accept-Encoding", CODING_LIST],
  });
}

/**
 * Rejects a body with a content coding. Called for bodies that are passed on as they arrive: the
 * gateway decompresses only whole bodies.
 * @throws {HttpError} 415
 */
export function checkNotCoded(headers: RequestHeaders): void {
  if (codingOf(headers) === undefined) return;
  const message = "The body must not be compressed: it is sent on to the service as it arrives";
  throw new HttpError(415, message, { headers: ["Accept-Encoding", "identity"] });
}

/**
 * Whether the body has a content coding.
 * @throws {HttpError} 415 for an unknown coding
 */
export function isCoded({ headers }: GatewayRequestHead): boolean {
  return headers.contentEncoding !== undefined && codingOf(headers) !== undefined;
}

/**
 * Decompresses a body by its Content-Encoding.
 * @param maxBytes maximum size of the body, before and after decompression
 * @throws {HttpError} (rejects) 400 where the body is not in its declared coding, 413 too large,
 * 415 unknown coding, 503 no memory
 */
export async function decodeContent(
  request: GatewayRequest,
  chunks: readonly Uint8Array[],
  maxBytes: number,
): Promise<readonly Uint8Array[]> {
  const coding = codingOf(request.headers);
  if (coding === undefined) return chunks;
  const [first] = chunks;
  const body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  try {
    const bytes = await decompress(coding, body, maxBytes, (size) => request.tryReserveBody(size));
    if (bytes === undefined) throw NO_MEMORY;
    return [bytes];
  } catch (error) {
    if (!(error instanceof DecompressError)) throw error;
    if (error.reason === "too large") {
      throw new HttpError(413, `The body must not be larger than ${maxBytes} bytes, decompressed`);
    }
    throw new HttpError(400, `The body is not ${coding}, as its Content-Encoding says`, { cause: error });
  }
}
