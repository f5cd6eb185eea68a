/**
 * What can go wrong with a connection and with a stream (RFC 9113, sections 5.4 and 7), and which gRPC code stands for
 * it (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Errors", and doc/http-grpc-status-mapping.md).
 */
import { Code } from "../errors.js";
import type { Status } from "../rpc/channel.js";
import { protocolError, status } from "../rpc/status.js";

export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
} as const;

/** The peer broke the protocol, or a bound, in a way that ends the connection. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** How a call ends whose stream was reset with an error code. CANCEL and REFUSED_STREAM are the peer's free choice. */
export function codeOfReset(errorCode: number): Code {
  switch (errorCode) {
    case ErrorCode.REFUSED_STREAM:
      return Code.UNAVAILABLE;
    case ErrorCode.CANCEL:
      return Code.CANCELLED;
    case ErrorCode.ENHANCE_YOUR_CALM:
      return Code.RESOURCE_EXHAUSTED;
    case ErrorCode.INADEQUATE_SECURITY:
      return Code.PERMISSION_DENIED;
    default:
      return Code.INTERNAL;
  }
}

/** What a caller reads of a stream that was reset. */
export function brokenOff(errorCode: number): string {
  return `the service broke the call off (HTTP/2 error ${errorCode})`;
}

/** What a caller reads of a response with another content type than gRPC's. */
export function notGrpc(contentType = "of nothing"): string {
  return `the service answered with the content type ${contentType}, which is not gRPC`;
}

/**
 * How a call ends whose response has an HTTP status and no gRPC status: a proxy answered, or a server that is not a gRPC
 * server. A proxy's 502, 503 and 504 say that the service cannot be reached; anything else breaks the protocol.
 */
export function statusOfHttp(httpStatus: number): Status {
  const code = codeOfHttpStatus(httpStatus);
  const what = httpStatus === 200 ? "ended the call without a status" : `answered with HTTP status ${httpStatus}`;
  const unreachable = httpStatus >= 502 && httpStatus <= 504;
  return (unreachable ? status : protocolError)(code, `the service ${what}`);
}

function codeOfHttpStatus(httpStatus: number): Code {
  switch (httpStatus) {
    case 400:
      return Code.INTERNAL;
    case 401:
      return Code.UNAUTHENTICATED;
    case 403:
      return Code.PERMISSION_DENIED;
    case 404:
      return Code.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return Code.UNAVAILABLE;
    default:
      return Code.UNKNOWN;
  }
}
