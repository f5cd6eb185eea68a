/** Metadata and statuses to grpc-js's own kinds and back. */
import { Metadata as GrpcMetadata, logVerbosity, type StatusObject, setLogVerbosity } from "@grpc/grpc-js";
import { Code } from "../../errors.js";
import type { Status } from "../channel.js";
import type { Metadata } from "../metadata.js";
import { DETAILS_TRAILER, decodeDetails, encodeDetails } from "../status.js";

// It tells standard error of values that it drops, in full, and these may be tokens. Failures are told by statuses.
setLogVerbosity(logVerbosity.NONE);

/** Headers of the protocol, which are no metadata (PROTOCOL-HTTP2.md, "Response-Headers"). */
const PROTOCOL = new Set(["content-type", "date", "grpc-accept-encoding", "grpc-encoding", "accept-encoding"]);

/** @throws {Error} for names or values that cannot be sent */
export function toGrpc(metadata: Metadata): GrpcMetadata {
  const converted = new GrpcMetadata();
  for (const [name, value] of metadata) {
    try {
      converted.add(name, typeof value === "string" ? value : asBuffer(value));
    } catch {
      // What was thrown quotes the value, which may be a token.
      throw new Error(`the name or the value of "${name}" has characters that metadata cannot have`);
    }
  }
  return converted;
}

export function fromGrpc(metadata: GrpcMetadata): Metadata {
  return Object.entries(metadata.toJSON()).flatMap(([name, values]) =>
    PROTOCOL.has(name) ? [] : values.map((value) => [name, value] as const),
  );
}

/** @throws {Error} for trailers that cannot be sent */
export function toGrpcStatus(status: Status): StatusObject {
  const metadata = toGrpc(status.trailers);
  if (status.details.length > 0) metadata.set(DETAILS_TRAILER, encodeDetails(status));
  // grpc-js percent-encodes the message with encodeURI, which throws at a lone surrogate; UTF-8 replaces it.
  return { code: status.code as number, details: Buffer.from(status.message).toString(), metadata };
}

export function fromGrpcStatus({ code, details, metadata }: StatusObject): Status {
  const packed = metadata.get(DETAILS_TRAILER)[0];
  const unknown = Code[code] === undefined;
  return {
    code: unknown ? Code.UNKNOWN : (code as number),
    message: unknown ? "the service ended the call with an unknown status" : details,
    protocolError: unknown,
    details: packed instanceof Buffer ? decodeDetails(packed) : [],
    trailers: fromGrpc(metadata).filter(([name]) => name !== DETAILS_TRAILER),
  };
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
