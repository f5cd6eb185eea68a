/**
 * Streams as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): a message an event,
 * numbered from 1, and where the stream fails, the error object as an event `error`.
 *
 *     id: 1
 *     data: {"message":"Hello Ada","msg":"Hello Ada"}
 *
 * Browsers connect again when a stream is over, whether it broke or was complete. So a complete one ends with an id
 * alone, which makes no event, but which browsers show when they come back; the 204 they then get keeps them away.
 */
import type { Frames } from "./stream-body.js";

const COMPLETE = "complete";

/** @param write gives a message as JSON without line breaks */
export function serverSentEvents(write: (message: Uint8Array) => string): Frames {
  let count = 0;
  return {
    contentType: () => "text/event-stream",
    message: (message) => `id: ${++count}\ndata: ${write(message)}\n\n`,
    failure: (error) => `event: error\ndata: ${error}\n\n`,
    heartbeat: ":\n\n",
    end: `id: ${COMPLETE}\n\n`,
  };
}

/** Whether a header Accept asks for them by name. A weight of nothing asks not to get them (RFC 9110 §12.4.2). */
export function acceptsEvents(accept: string): boolean {
  return accept.split(",").some((range) => EVENTS.test(range) && !NO_WEIGHT.test(range));
}

const EVENTS = /^[ \t]*text\/event-stream[ \t]*(?:;|$)/i;
const NO_WEIGHT = /;[ \t]*q=0(?:\.0*)?[ \t]*(?:;|$)/i;

/** Whether a browser comes back, by its header Last-Event-ID, after a stream that was complete. */
export function hasHadAll(lastEventId: string): boolean {
  return lastEventId === COMPLETE;
}
