/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): one event
 * per message, numbered from 1. If the stream fails, the last event is `error`, with the error
 * object.
 *
 *     id: 1
 *     data: {"message":"Hello Ada","msg":"Hello Ada"}
 *
 *     event: complete
 *     id: complete
 *     data: {}
 *
 * Clients connect again when a stream ends, whether it broke or was complete. So a complete stream
 * ends with an event `complete`. When clients connect again, they send its ID in the header
 * Last-Event-ID, and get a 204, which stops them. The event has data, because clients such as npm's
 * eventsource 3 and 4 forget the ID of an event without data, and would start the stream again for
 * ever. Because of its name the event does not reach `onmessage`.
 */
import type { StreamFormat } from "./response-stream.js";
import { toErrorObject } from "./stream-error.js";

const COMPLETE = "complete";

/** @param write writes a message as JSON without line breaks */
export function serverSentEvents(write: (message: Uint8Array) => string): StreamFormat {
  let count = 0;
  return {
    contentType: () => "text/event-stream",
    message: (message) => `id: ${++count}\ndata: ${write(message)}\n\n`,
    failure: (error, target) => `event: error\ndata: ${toErrorObject(error, target)}\n\n`,
    heartbeat: ":\n\n",
    end: `event: ${COMPLETE}\nid: ${COMPLETE}\ndata: {}\n\n`,
  };
}

const EVENTS = "text/event-stream";
const LINES = "application/x-ndjson";

/**
 * Whether a header Accept (RFC 9110 §12.5.1) prefers server-sent events to NDJSON. At equal weight
 * NDJSON is preferred, unless the header names only events and covers NDJSON by a wildcard. A
 * header that accepts neither is ignored.
 */
export function acceptsEvents(accept: string): boolean {
  const ranges = accept.toLowerCase().split(",").flatMap(readRange);
  const events = preferenceFor(EVENTS, ranges);
  const lines = preferenceFor(LINES, ranges);
  if (events.weight !== lines.weight) return events.weight > lines.weight;
  return events.weight > 0 && events.precision > lines.precision;
}

interface Range {
  /** Such as `text/event-stream`, or with wildcards, all in lower case. */
  readonly type: string;
  /** 0 to 1; 0 means not acceptable. */
  readonly weight: number;
}

/**
 * A media range with its weight, without its other parameters; an empty list if it is malformed.
 */
function readRange(text: string): Range[] {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? [{ type, weight: Number(weight) }] : [];
}

/**
 * The weight of the most precise range that covers a type, and its precision: 3 for the type
 * itself, 0 if no range covers it.
 */
function preferenceFor(
  type: string,
  ranges: readonly Range[],
): { readonly weight: number; readonly precision: number } {
  const forms = ["*/*", type.replace(/\/.*/, "/*"), type];
  for (let precision = forms.length; precision > 0; precision--) {
    const weights = ranges.filter((range) => range.type === forms[precision - 1]).map((range) => range.weight);
    if (weights.length > 0) return { weight: Math.max(...weights), precision };
  }
  return { weight: 0, precision: 0 };
}

/** Whether a client has received the stream to its end, according to its header Last-Event-ID. */
export function isComplete(lastEventId: string): boolean {
  return lastEventId === COMPLETE;
}
