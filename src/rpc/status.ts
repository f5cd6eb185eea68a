/**
 * Statuses. A Status is how a call ends on a channel. A StatusError is an exception with the same
 * content. The details of a status are sent in the trailer `grpc-status-details-bin`, as a
 * serialized google.rpc.Status (https://grpc.io/docs/guides/error/#richer-error-model).
 *
 * A call also ends with a status when its HTTP/2 response is not a complete gRPC response: it has
 * another content type, it has an HTTP status and no grpc-status, or its stream was reset (gRPC's
 * PROTOCOL-HTTP2.md, "Errors", and http-grpc-status-mapping.md).
 */

import { type Metadata, NO_METADATA } from "../call/metadata.js";
import { Code, StatusError } from "../errors.js";
import type { Any } from "../gen/google/protobuf/any.js";
import { Status as StatusMessage } from "../gen/google/rpc/status.js";
import { ErrorCode } from "../http2/errors.js";
import type { Status } from "./channel.js";

export const DETAILS_TRAILER = "grpc-status-details-bin";

/** A valid value of grpc-status (PROTOCOL-HTTP2.md, "Status"). */
export const STATUS = /^\d+$/;

/** The message for the caller when grpc-status is not a code. */
export const MALFORMED_STATUS = "the service ended the call with a malformed status";

/** A status without details or trailers. */
export function status(
  code: Code,
  message: string,
  extra: Pick<Status, "neverSent" | "protocolError" | "tooLarge" | "cause"> = {},
): Status {
  return { code, message, details: [], trailers: NO_METADATA, ...extra };
}

/**
 * The status of a call when its peer broke the protocol.
 * @param code the code that gRPC's documents demand
 */
export function protocolError(code: Code, message: string): Status {
  return status(code, message, { protocolError: true });
}

/**
 * The status of a call when its response exceeds a limit of this end.
 * @param message names the limit
 */
export function responseTooLarge(message: string): Status {
  return status(Code.RESOURCE_EXHAUSTED, message, { tooLarge: true });
}

/**
 * The error message for a message that is larger than its receiver accepts, in either direction.
 */
export function largerThan(maxBytes: number): string {
  return `a message is larger than ${maxBytes} bytes`;
}

/** The status of a call that the service certainly never saw. */
export function unreachable(cause?: Error): Status {
  return status(Code.UNAVAILABLE, "the service cannot be reached", { neverSent: true, cause });
}

/** The status of a call that was opened on a channel after its `close`. */
export function channelClosed(): Status {
  return status(Code.UNAVAILABLE, "the channel is closed", { neverSent: true });
}

/** The status of a call that was open, or waiting, when its channel was closed. */
export function closedDuringCall(neverSent = false): Status {
  return status(Code.UNAVAILABLE, "the channel was closed", neverSent ? { neverSent } : {});
}

/** The status of a call when its connection broke after the call was sent. */
export function connectionLost(): Status {
  return status(Code.UNAVAILABLE, "the connection to the service was lost");
}

export function cancelled(): Status {
  return status(Code.CANCELLED, "Cancelled");
}

export function deadlineExceeded(): Status {
  return status(Code.DEADLINE_EXCEEDED, "Deadline exceeded");
}

/** The status of a call that was not sent, because its metadata cannot be sent. */
export function unsendable(error: Error): Status {
  return status(Code.INTERNAL, `the metadata cannot be sent: ${error.message}`);
}

/** The server's status for a call that does not fit into the memory budget. */
export const NO_MEMORY: Status = status(
  Code.RESOURCE_EXHAUSTED,
  "too much is waiting to be received or read; try again",
);

/**
 * The status of a call that was ended to free memory: its message was incomplete, and it was the
 * oldest such call of its client.
 */
export const GIVEN_UP: Status = status(
  Code.RESOURCE_EXHAUSTED,
  "the message was given up: too many messages of this client are unfinished, and it was the oldest; send fewer at once",
);

/** google.rpc.RetryInfo { retry_delay { seconds: 1 } }. Over HTTP it becomes Retry-After. */
const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";
const RETRY_IN_A_SECOND: Any = { typeUrl: RETRY_INFO, value: Buffer.of(0x0a, 2, 0x08, 1) };

/**
 * The status of a call that was not begun, because the service has more calls than it can serve in
 * time. It is UNAVAILABLE, because the overload will pass; RESOURCE_EXHAUSTED would say that the
 * caller has used up a quota.
 */
export function overloaded(service: string): Status {
  return retryLater(`${service} has more calls than it can process in time; try again later`);
}

/** The status of a call that was not begun, because an administrator allows no more at once. */
export function tooManyCalls(service: string, maximum: number): Status {
  return retryLater(`${service} has ${maximum} calls, which is its maximum at the same time; try again later`);
}

function retryLater(message: string): Status {
  return { code: Code.UNAVAILABLE, message, details: [RETRY_IN_A_SECOND], trailers: NO_METADATA };
}

/** Whether the call was refused by a reachable service that asks the caller to retry later. */
export function isOverload({ code, details }: Status): boolean {
  return code === Code.UNAVAILABLE && details.some(({ typeUrl }) => typeUrl === RETRY_INFO);
}

/** The StatusError that is thrown to the caller of a failed call. */
export function toError({ code, message, details, cause }: Status): StatusError {
  return new StatusError(code, message, { details, cause });
}

/** The status of a call when its endpoint threw this error. */
export function toStatus({ code, message, details }: StatusError, trailers: Metadata = NO_METADATA): Status {
  return { code, message, details, trailers };
}

/** The value of the trailer that carries the details of a status. */
export function encodeDetails({ code, message, details }: Pick<Status, "code" | "message" | "details">): Buffer {
  return StatusMessage.encode({ code, message, details: [...details] }).finish();
}

/** The details in the trailer; empty when the trailer is not a google.rpc.Status. */
export function decodeDetails(trailer: Uint8Array): readonly Any[] {
  try {
    return StatusMessage.decode(trailer).details;
  } catch {
    return [];
  }
}

/** The content type of gRPC with protobuf messages. */
export const CONTENT_TYPE = "application/grpc";

/**
 * Whether a content type is gRPC's with protobuf messages, which are the default
 * (PROTOCOL-HTTP2.md, "Content-Type").
 */
export function isGrpc(contentType: string | undefined): boolean {
  if (contentType === CONTENT_TYPE) return true;
  return contentType !== undefined && /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType);
}

/** The message for the caller when a response has another content type than gRPC's. */
export function notGrpc(contentType = "of nothing"): string {
  return `the service responded with the content type ${contentType}, which is not gRPC`;
}

/**
 * The status of a call when its response has an HTTP status and no gRPC status. The response came
 * from a proxy, or from a server that does not speak gRPC. A proxy's 502, 503 and 504 say that the
 * service cannot be reached; any other status breaks the protocol.
 */
export function statusOfHttp(httpStatus: number): Status {
  const code = codeOfHttpStatus(httpStatus);
  const what = httpStatus === 200 ? "ended the call without a status" : `responded with HTTP status ${httpStatus}`;
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
 * The status of a call when its stream was reset.
 * @param errorCode the error code of RST_STREAM (RFC 9113, section 7)
 * @param deadlineMonotonicMs the deadline of the call, in milliseconds of `performance.now()`. A
 * server may reset the stream at the deadline, just before this end's timer fires.
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
