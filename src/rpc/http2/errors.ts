/**
 * What can go wrong with a connection and with a stream (RFC 9113, sections 5.4 and 7), and which gRPC code stands for
 * it (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Errors", and doc/http-grpc-status-mapping.md).
 */
import { Code } from "../../errors.js";

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

/** How a call ends whose response has an HTTP status and no gRPC one: a proxy answered, or no gRPC server. */
export function codeOfHttpStatus(httpStatus: number): Code {
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
