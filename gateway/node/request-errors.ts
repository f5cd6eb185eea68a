/** The errors of requests that are the same over HTTP/1.1 and HTTP/2. */
import { HttpError } from "../http/errors.js";

export const GONE = new HttpError(499, "The client has gone");
export const TOO_SLOW = new HttpError(408, "The request took too long to arrive");
export const CHUNK_TOO_SLOW = new HttpError(408, "The next chunk of the body took too long to arrive");
export const STALLED = new HttpError(504, "The service has taken nothing of the body for too long");
export const NO_TUNNEL = new HttpError(405, "CONNECT is not served here", {
  headers: ["Allow", "GET, HEAD, POST, OPTIONS"],
});
export const UNKNOWN_EXPECTATION = new HttpError(417, "The only expectation understood is 100-continue");

/** @param maxBytes maximum size of the body */
export function bodyTooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `The body must not be larger than ${maxBytes} bytes`);
}
