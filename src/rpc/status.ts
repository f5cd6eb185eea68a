/**
 * A status is how a call ends on the wire, a StatusError how it ends in code. Details travel beside the status in the
 * trailer `grpc-status-details-bin`, as a serialized google.rpc.Status
 * (https://grpc.io/docs/guides/error/#richer-error-model).
 */
import { type Code, StatusError } from "../errors.js";
import type { Any } from "../gen/google/protobuf/any.js";
import { Status as StatusMessage } from "../gen/google/rpc/status.js";
import type { Status } from "./channel.js";
import { type Metadata, NO_METADATA } from "./metadata.js";

export const DETAILS_TRAILER = "grpc-status-details-bin";

/** A status without details or trailers. */
export function status(
  code: Code,
  message: string,
  extra: Pick<Status, "neverSent" | "protocolError" | "cause"> = {},
): Status {
  return { code, message, details: [], trailers: NO_METADATA, ...extra };
}

/** The end of a call whose peer broke the protocol. `code` is what the gRPC documents have for it. */
export function protocolError(code: Code, message: string): Status {
  return status(code, message, { protocolError: true });
}

/** What a failed call throws. */
export function toError({ code, message, details, cause }: Status): StatusError {
  return new StatusError(code, message, { details, cause });
}

/** What a thrown error ends its call with. */
export function toStatus({ code, message, details }: StatusError, trailers: Metadata = NO_METADATA): Status {
  return { code, message, details, trailers };
}

/** The trailer that carries a status with details. */
export function encodeDetails({ code, message, details }: Status): Buffer {
  return StatusMessage.encode({ code, message, details: [...details] }).finish();
}

/** The details in the trailer; none where a service sent something else under its name. */
export function decodeDetails(trailer: Uint8Array): readonly Any[] {
  try {
    return StatusMessage.decode(trailer).details;
  } catch {
    return [];
  }
}
