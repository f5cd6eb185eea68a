/**
 * Streams as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): a message an event,
 * numbered from 1, and where the stream fails, the error object as an event `error`.
 *
 *     id: 1
 *     data: {"message":"Hello Ada","msg":"Hello Ada"}
 *
 *     event: complete
 *     id: complete
 *     data: {}
 *
 * Clients connect again when a stream is over, whether it broke or was complete. So a complete one ends with an event
 * `complete`, whose id they show in the header Last-Event-ID when they come back; the 204 they then get keeps them away.
 * The event has data, because clients such as npm's eventsource 3 and 4 forget the id of an event without any, and would
 * run the stream again for ever. Its name keeps it from `onmessage`.
 */
import type { Frames } from "./response-stream.js";

const COMPLETE = "complete";

/** @param write gives a message as JSON without line breaks */
export function serverSentEvents(write: (message: Uint8Array) => string): Frames {
  let count = 0;
  return {
    contentType: () => "text/event-stream",
    message: (message) => `id: ${++count}\ndata: ${write(message)}\n\n`,
    failure: (error) => `event: error\ndata: ${error}\n\n`,
    heartbeat: ":\n\n",
    end: `event: ${COMPLETE}\nid: ${COMPLETE}\ndata: {}\n\n`,
  };
}

const EVENTS = "text/event-stream";
const LINES = "application/x-ndjson";

/**
 * Whether a header Accept (RFC 9110 §12.5.1) prefers server-sent events to NDJSON. At equal weight, NDJSON is preferred,
 * unless events alone are named and NDJSON is only covered by a wildcard. A header that accepts neither is disregarded.
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

/** A media range with its weight; its other parameters do not matter here. None where it is malformed. */
function readRange(text: string): Range[] {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? [{ type, weight: Number(weight) }] : [];
}

/** The weight of the most precise range that covers a type, and how precise that is: 0 where none does, 3 for its name. */
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

/** Whether a client comes back, by its header Last-Event-ID, after a stream that was complete. */
export function hasHadAll(lastEventId: string): boolean {
  return lastEventId === COMPLETE;
}
