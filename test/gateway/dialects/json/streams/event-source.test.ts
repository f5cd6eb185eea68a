// npm's eventsource, which forgets the ID of an event without data, runs a finished stream once.
import { EventSource } from "eventsource";
import t from "tap";
import { checkEndsOnce, type EventSourceClass } from "./event-source.js";

t.test("a finished stream is not run again by eventsource 4", (t) =>
  checkEndsOnce(t, EventSource as unknown as EventSourceClass),
);
