/**
 * The differences between gRPC, gRPC-Web and the streams of Connect. In all three a message is in
 * an envelope: a flag, four bytes of length, and the message, which may be compressed (gRPC's
 * PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
 */
import type { Metadata } from "../../../src/call/metadata.js";
import type { Failure } from "../../http/errors.js";
import type { RequestHeaders } from "../../http/headers.js";
import type { GatewayRequestHead } from "../../http/message.js";
import type { RpcCodec } from "./codec.js";
import type { ContentCoding } from "./compression.js";

export interface EnvelopeProtocol {
  /** The name in the log. */
  readonly name: string;
  contentType(codec: RpcCodec): string;
  /** Rejects a request with which the protocol cannot work. @throws {Error} */
  checkRequest(request: GatewayRequestHead): void;
  /** Whether the protocol also calls unary endpoints. */
  readonly hasUnary: boolean;
  /** The timeout of the call, in milliseconds. @throws {HttpError} 400 */
  readTimeout(headers: RequestHeaders): number | undefined;
  /** The compression of the request's messages, from the header that names it. */
  requestEncoding(headers: RequestHeaders): string | undefined;
  /** The compression for responses that the client asked for. */
  responseEncoding(headers: RequestHeaders): ContentCoding | undefined;
  /** The header that names the compression of the response's messages. */
  readonly encodingHeader: string;
  /** Headers of every response. */
  readonly headers: readonly string[];
  /** The end of a call: the frame after the last message, and the trailers. */
  end(failure: Failure | undefined, trailers: Metadata): End;
}

export interface End {
  /** The last frame of the body. */
  readonly frame: Uint8Array | undefined;
  /** Name, value, name, value … */
  readonly trailers: readonly string[] | undefined;
}

/** The flag of a compressed message. */
export const COMPRESSED = 1;

const NO_BYTES = new Uint8Array(0);

/**
 * Returns a frame (a flag, a length and a message), followed by the bytes of `behind`. The message
 * is copied only once, because it may be large.
 */
export function envelope(flag: number, message: Uint8Array, behind: Uint8Array = NO_BYTES): Buffer {
  const end = 5 + message.length;
  const frame = Buffer.allocUnsafe(end + behind.length);
  frame[0] = flag;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  frame.set(behind, end);
  return frame;
}
