/**
 * The status that a call ends with when its HTTP/2 response is not a complete gRPC response: it has another content type,
 * an HTTP status and no grpc-status, or its stream was reset (gRPC's PROTOCOL-HTTP2.md, "Errors", and
 * http-grpc-status-mapping.md). Both transports over HTTP/2 use it.
 */
import { Code } from "../errors.js";
import { ErrorCode } from "../http2/errors.js";
import type { Status } from "./channel.js";
import { deadlineExceeded, protocolError, status, unreachable } from "./status.js";

/** Of gRPC with protobuf messages. */
export const CONTENT_TYPE = "application/grpc";

/** Whether a content type is gRPC's with protobuf messages, which are the default (PROTOCOL-HTTP2.md, "Content-Type"). */
export function isGrpc(contentType: string | undefined): boolean {
  if (contentType === CONTENT_TYPE) return true;
  return contentType !== undefined && /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType);
}

/** The message for the caller whose response has another content type than gRPC's. */
export function notGrpc(contentType = "of nothing"): string {
  return `the service answered with the content type ${contentType}, which is not gRPC`;
}

/**
 * The end of a call whose response has an HTTP status and no gRPC status: a proxy answered, or a server that is not a gRPC
 * server. A proxy's 502, 503 and 504 say that the service cannot be reached; anything else breaks the protocol.
 */
export function statusOfHttp(httpStatus: number): Status {
  const code = codeOfHttpStatus(httpStatus);
  const what = httpStatus === 200 ? "ended the call without a status" : `answered with HTTP status ${httpStatus}`;
  const isUnreachable = httpStatus >= 502 && httpStatus <= 504;
  return (isUnreachable ? status : protocolError)(code, `the service ${what}`);
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

/**
 * The end of a call whose stream was reset.
 * @param errorCode of RST_STREAM (RFC 9113, section 7)
 * @param deadline of the call, in milliseconds of `Date.now()`: a server may reset the stream just before this end's timer
 */
export function statusOfReset(errorCode: number, deadline: number): Status {
  if (errorCode === ErrorCode.REFUSED_STREAM) return unreachable();
  if (errorCode === ErrorCode.CANCEL && Date.now() >= deadline) return deadlineExceeded();
  return protocolError(codeOfReset(errorCode), `the service broke the call off (HTTP/2 error ${errorCode})`);
}

function codeOfReset(errorCode: number): Code {
  switch (errorCode) {
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
