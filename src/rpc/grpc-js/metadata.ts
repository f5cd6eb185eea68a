/** Converts metadata to the class of @grpc/grpc-js and back. */
import { Metadata as GrpcMetadata, logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import { asBuffer } from "../../buffer.js";
import type { Metadata } from "../metadata.js";

// grpc-js writes each value that it drops to standard error in full, and such a value may be a token. Nothing is lost: a
// failure is reported by the call's status.
setLogVerbosity(logVerbosity.NONE);

/** Headers of the protocol, which are not metadata (PROTOCOL-HTTP2.md, "Response-Headers"). */
const PROTOCOL = new Set(["content-type", "date", "grpc-accept-encoding", "grpc-encoding", "accept-encoding"]);

/** @throws {Error} for names or values that cannot be sent */
export function toGrpc(metadata: Metadata): GrpcMetadata {
  const converted = new GrpcMetadata();
  for (const [name, value] of metadata) {
    try {
      converted.add(name, typeof value === "string" ? value : asBuffer(value));
    } catch {
      // The message of the error that was thrown quotes the value, which may be a token.
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
