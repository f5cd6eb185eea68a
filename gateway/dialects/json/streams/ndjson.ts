/**
 * Streams as newline-delimited JSON (https://github.com/ndjson/ndjson-spec): a message a line, and where the stream
 * fails, the error object under a name that no message has as its only one:
 *
 *     {"message":"Hello Ada","msg":"Hello Ada"}
 *     {"error":{"Id":"helloworld","Code":401,"Detail":"…","Status":"Unauthorized"}}
 *
 * An empty line is a heartbeat.
 */
import type { Frames } from "./response-stream.js";

/** @param write gives a message as JSON without line breaks */
export function ndjson(write: (message: Uint8Array) => string): Frames {
  return {
    contentType: () => "application/x-ndjson",
    message: (message) => `${write(message)}\n`,
    failure: (error) => `{"error":${error}}\n`,
    heartbeat: "\n",
    end: undefined,
  };
}
