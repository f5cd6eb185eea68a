/**
 * Errors as grpc-gateway writes them: a google.rpc.Status in JSON.
 *
 *     {"code":5,"message":"no such shelf","details":[]}
 *
 * The HTTP status is the status of the gRPC code: src/errors.ts has the same table as grpc-gateway.
 * An error of the gateway that has no gRPC code, such as 413, keeps its HTTP status, and has the
 * code that is closest to it.
 */
import { Code } from "../../../../src/errors.js";
import type { EndpointTarget } from "../../../catalog/target.js";
import { writeDetail } from "../../../http/error-object.js";
import type { Failure } from "../../../http/errors.js";

/**
 * The message is the service's own, because clients compare it. Only the message of UNKNOWN is
 * replaced: servers write uncaught exceptions into it, which were not written for callers.
 */
export function writeStatus({ code, message, original, details }: Failure, { any, style }: EndpointTarget): string {
  const text = JSON.stringify(code === Code.UNKNOWN ? message : original);
  const status = `{"code":${code},"message":${text}`;
  // grpc-gateway writes the status by the options of all messages.
  if (details.length === 0 && style.omitZeros) return `${status}}`;
  return `${status},"details":[${details.map((detail) => writeDetail(any, detail)).join()}]}`;
}
