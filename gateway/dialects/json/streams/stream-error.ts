/** The error with which a stream ends, as the error object. */
import type { EndpointTarget } from "../../../catalog/target.js";
import { writeErrorReply } from "../../../http/error-object.js";
import type { Failure } from "../../../http/errors.js";

export function toErrorObject(failure: Failure, target: EndpointTarget): string {
  return writeErrorReply(target.endpoint.service, failure, target).body;
}
