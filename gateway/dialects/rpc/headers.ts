/** The statuses of calls as trailers: name, value, name, value … */
import type { Metadata } from "../../../src/call/metadata.js";
import { DETAILS_TRAILER, encodeDetails } from "../../../src/rpc/status.js";
import { encodeMessage } from "../../../src/rpc/status-message.js";
import type { Failure } from "../../http/errors.js";
import { addMetadata, unpadded } from "../metadata.js";

/** The trailers of a call that succeeded without metadata. */
const SUCCESS: readonly string[] = ["grpc-status", "0"];

/** The trailers with which a call ends in gRPC and gRPC-Web (PROTOCOL-HTTP2.md, "Responses"). */
export function grpcTrailers(failure: Failure | undefined, metadata: Metadata): readonly string[] {
  if (failure === undefined) return metadata.length === 0 ? SUCCESS : addMetadata([...SUCCESS], metadata);
  const { code, original: message, details } = failure;
  const list = ["grpc-status", String(code)];
  if (message !== "") list.push("grpc-message", encodeMessage(message));
  if (details.length > 0) list.push(DETAILS_TRAILER, unpadded(encodeDetails({ code, message, details })));
  return addMetadata(list, metadata);
}
