/**
 * The response of a tool whose endpoint returns a stream: an event stream, whose last event is the
 * JSON-RPC response. If the client asked for progress, each message is also sent as a progress
 * notification.
 */
import type { EndpointTarget } from "../../catalog/target.js";
import { type Failure, HttpError } from "../../http/errors.js";
import type { StreamFormat } from "../json/streams/response-stream.js";
import { toErrorObject } from "../json/streams/stream-error.js";
import { resultText } from "./message.js";
import { failedResult, type Members, responseJson, streamResult } from "./tool-result.js";

/** The maximum part of a stream in a result: messages, and characters of their JSON. */
const MAX_MESSAGES = 1_000;
const MAX_CHARACTERS = 256 * 1024;

/** Ends a call whose result is full. */
const ENOUGH = new HttpError(200, "The result is full");

export interface ToolStreamOptions {
  readonly id: string | number;
  readonly target: EndpointTarget;
  /** The client's name for the progress of this request; undefined if it asked for none. */
  readonly progressToken: unknown;
  readonly members: Members;
}

export class ToolStreamFormat implements StreamFormat {
  readonly heartbeat = ":\n\n";
  readonly #options: ToolStreamOptions;
  readonly #messages: string[] = [];
  #characters = 0;
  #truncated = false;

  constructor(options: ToolStreamOptions) {
    this.#options = options;
  }

  contentType(): string {
    return "text/event-stream";
  }

  message(message: Uint8Array): string {
    const { target, progressToken } = this.#options;
    const json = responseJson(target, message);
    this.#characters += json.length;
    if (this.#messages.length === MAX_MESSAGES || this.#characters > MAX_CHARACTERS) {
      this.#truncated = true;
      throw ENOUGH;
    }
    const progress = this.#messages.push(json);
    if (progressToken === undefined) return this.heartbeat;
    const params = { progressToken, progress, message: json };
    return event(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
  }

  failure(error: Failure, target: EndpointTarget): string {
    const { id, members } = this.#options;
    return this.#truncated ? this.end : event(resultText(id, failedResult(toErrorObject(error, target), members)));
  }

  get end(): string {
    const { id, members } = this.#options;
    return event(resultText(id, streamResult(this.#messages, this.#truncated, members)));
  }
}

/** A server-sent event. @param data JSON, which has no line breaks */
export function event(data: string): string {
  return `event: message\ndata: ${data}\n\n`;
}
