/** The error with which a stream ends, as the error object. */
import { type ErrorReply, writeErrorReply } from "../../../http/error-object.js";
import type { StreamCallOptions } from "../../../stages/stream-call.js";

export function toErrorObject(error: Error, { target, toFailure }: StreamCallOptions): ErrorReply {
  return writeErrorReply(target.endpoint.service, toFailure(error), target);
}
