/**
 * NDJSON, newline-delimited JSON (https://github.com/ndjson/ndjson-spec): one message per line. If
 * the stream fails, the last line is an object whose only member is the error object:
 *
 *     {"message":"Hello Ada","msg":"Hello Ada"}
 *     {"error":{"Id":"helloworld","Code":401,"Detail":"…","Status":"Unauthorized"}}
 *
 * An empty line is a heartbeat.
 */
import type { StreamFormat } from "./response-stream.js";
import { toErrorObject } from "./stream-error.js";

/** @param write writes a message as JSON without line breaks */
export function ndjson(write: (message: Uint8Array) => string): StreamFormat {
  return {
    contentType: () => "application/x-ndjson",
    message: (message) => `${write(message)}\n`,
    failure: (error, target) => `{"error":${toErrorObject(error, target)}}\n`,
    heartbeat: "\n",
    end: undefined,
  };
}
