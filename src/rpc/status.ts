/**
 * Statuses: a Status is how a call ends on a channel, a StatusError the same as an exception. The details of a status are
 * sent in the trailer `grpc-status-details-bin`, as a serialized google.rpc.Status
 * (https://grpc.io/docs/guides/error/#richer-error-model).
 *
 * A call also ends with a status when its HTTP/2 response is not a complete gRPC response: it has another content type, an
 * HTTP status and no grpc-status, or its stream was reset (gRPC's PROTOCOL-HTTP2.md, "Errors", and
 * http-grpc-status-mapping.md).
 */

import { type Metadata, NO_METADATA } from "../call/metadata.js";
import { Code, StatusError } from "../errors.js";
import type { Any } from "../gen/google/protobuf/any.js";
import { Status as StatusMessage } from "../gen/google/rpc/status.js";
import { ErrorCode } from "../http2/errors.js";
import type { Status } from "./channel.js";

export const DETAILS_TRAILER = "grpc-status-details-bin";

/** The value of grpc-status (PROTOCOL-HTTP2.md, "Status"). */
export const STATUS = /^\d+$/;

/** The message for the caller where grpc-status is no code. */
export const MALFORMED_STATUS = "the service ended the call with a malformed status";

/** A status without details or trailers. */
export function status(
  code: Code,
  message: string,
  extra: Pick<Status, "neverSent" | "protocolError" | "tooLarge" | "cause"> = {},
): Status {
  return { code, message, details: [], trailers: NO_METADATA, ...extra };
}

/** The end of a call whose peer broke the protocol; `code` is the one that the gRPC documents name for it. */
export function protocolError(code: Code, message: string): Status {
  return status(code, message, { protocolError: true });
}

/** The end of a call whose answer exceeds a limit of this end. @param message says what, and the limit */
export function responseTooLarge(message: string): Status {
  return status(Code.RESOURCE_EXHAUSTED, message, { tooLarge: true });
}

/** What is wrong with a message, in either direction, that is larger than the receiver takes. */
export function largerThan(maxBytes: number): string {
  return `a message is larger than ${maxBytes} bytes`;
}

/** The end of a call that the service certainly never saw. */
export function unreachable(cause?: Error): Status {
  return status(Code.UNAVAILABLE, "the service cannot be reached", { neverSent: true, cause });
}

/** The end of a call that was opened on a channel after its `close`. */
export function channelClosed(): Status {
  return status(Code.UNAVAILABLE, "the channel is closed", { neverSent: true });
}

/** The end of a call that was open, or waiting, when its channel was closed. */
export function closedDuringCall(neverSent = false): Status {
  return status(Code.UNAVAILABLE, "the channel was closed", neverSent ? { neverSent } : {});
}

/** The end of a call whose connection broke after it was sent. */
export function connectionLost(): Status {
  return status(Code.UNAVAILABLE, "the connection to the service was lost");
}

export function cancelled(): Status {
  return status(Code.CANCELLED, "Cancelled");
}

export function deadlineExceeded(): Status {
  return status(Code.DEADLINE_EXCEEDED, "Deadline exceeded");
}

/** The end of a call that was not sent, because its metadata cannot be. */
export function unsendable(error: Error): Status {
  return status(Code.INTERNAL, `the metadata cannot be sent: ${error.message}`);
}

/** The server's end of a call that does not fit into the memory budget. */
export const NO_MEMORY: Status = status(
  Code.RESOURCE_EXHAUSTED,
  "too much is waiting to be received or read; try again",
);

/** The answer to a call whose message was not complete, and was the oldest such of its client, when memory was needed. */
export const GIVEN_UP: Status = status(
  Code.RESOURCE_EXHAUSTED,
  "the message was given up: too many messages of this client are unfinished, and it was the oldest; send fewer at once",
);

/** google.rpc.RetryInfo { retry_delay { seconds: 1 } }: over HTTP it becomes Retry-After. */
const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";
const RETRY_IN_A_SECOND: Any = { typeUrl: RETRY_INFO, value: Buffer.of(0x0a, 2, 0x08, 1) };

/**
 * The end of a call that was not begun, because there are more than can be answered in time. UNAVAILABLE, because that passes;
 * RESOURCE_EXHAUSTED would say that the caller has used up a quota.
 */
export function overloaded(service: string): Status {
  const message = `${service} has more calls than it can answer in time; try again later`;
  return { code: Code.UNAVAILABLE, message, details: [RETRY_IN_A_SECOND], trailers: NO_METADATA };
}

/** Whether a call was refused by a service that can be reached, and asks to be called again later. */
export function isOverload({ code, details }: Status): boolean {
  return code === Code.UNAVAILABLE && details.some(({ typeUrl }) => typeUrl === RETRY_INFO);
}

/** The StatusError that a caller throws for a call that failed. */
export function toError({ code, message, details, cause }: Status): StatusError {
  return new StatusError(code, message, { details, cause });
}

/** The status that a call ends with whose endpoint threw. */
export function toStatus({ code, message, details }: StatusError, trailers: Metadata = NO_METADATA): Status {
  return { code, message, details, trailers };
}

/** The trailer that carries a status with details. */
export function encodeDetails({ code, message, details }: Pick<Status, "code" | "message" | "details">): Buffer {
  return StatusMessage.encode({ code, message, details: [...details] }).finish();
}

/** The details in the trailer; none where the trailer is not a google.rpc.Status. */
export function decodeDetails(trailer: Uint8Array): readonly Any[] {
  try {
    return StatusMessage.decode(trailer).details;
  } catch {
    return [];
  }
}

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
 * @param deadlineMonotonicMs of the call, in milliseconds of `performance.now()`: a server may reset the stream just before this end's timer
 */
export function statusOfReset(errorCode: number, deadlineMonotonicMs: number): Status {
  if (errorCode === ErrorCode.REFUSED_STREAM) return unreachable();
  if (errorCode === ErrorCode.CANCEL && performance.now() >= deadlineMonotonicMs) return deadlineExceeded();
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
