/**
 * Publishes events to topics, stores them for replay, and delivers them to consumer groups at least
 * once.
 */
import { type ConsumeResponse, EventService } from "../../src/gen/event/event.js";
import {
  type Call,
  Code,
  type Entry,
  invalidArgument,
  notFound,
  outOfRange,
  part,
  StatusError,
  timestampMs,
  toTimestamp,
} from "../../src/kit/index.js";
import { checkAfter, checkName, checkNumber, PAGE } from "../patterns/checks.js";
import { pageOf } from "../patterns/pages.js";
import {
  acknowledge,
  acknowledgedBy,
  append,
  deleteTopic,
  eventsFrom,
  offsetOf,
  type StoredEvent,
  type StoredTopic,
  topicsOf,
} from "./topics.js";
import { Turn } from "./turn.js";

/** The maximum number of characters in a payload as JSON. */
const MAX_PAYLOAD = 65_536;
/** The number of events that a stream reads at once. */
const MAX_READ = 20;

/** The service `event`. */
export const parts = [
  part(EventService, {
    async publish({ topic, payload }, call) {
      checkName("topic", topic);
      if (payload === undefined) throw invalidArgument("payload: is missing");
      if (JSON.stringify(payload).length > MAX_PAYLOAD) throw invalidArgument("payload: has more than 64 KiB as JSON");
      const offset = await append(call, topic, { payload, time: Date.now() });
      return { offset: BigInt(offset) };
    },

    async *consume({ topic, group, offset }, call) {
      checkName("topic", topic);
      if (group === "") {
        const start = offset === undefined ? await nextOf(call, topic) : checkOffset(offset);
        return yield* follow(call, topic, start);
      }
      checkName("group", group);
      // Creates the group, so that it gets all events from here on.
      await acknowledgedBy(call, topic, group, offset === undefined ? 1 : checkOffset(offset));
      const turn = await Turn.take(call, `${topic}/${group}`);
      try {
        if (turn !== undefined) yield* follow(call, topic, (await acknowledgedBy(call, topic, group)) + 1, turn);
      } finally {
        await turn?.end();
      }
    },

    async acknowledge({ topic, group, offset }, call) {
      checkName("topic", topic);
      checkName("group", group);
      const stored = await topicsOf(call).get(topic);
      if (stored === undefined) throw notFound(`There is no topic ${topic}`);
      const last = stored.next - 1;
      if (offset < 1n || offset > BigInt(last)) throw outOfRange(`offset: must be from 1 to ${last}, got ${offset}`);
      await acknowledgedBy(call, topic, group);
      await acknowledge(call, stored, group, Number(offset));
      return {};
    },

    async read({ topic, offset, since, limit: asked }, call) {
      checkName("topic", topic);
      const limit = checkNumber("limit", asked, PAGE);
      const earliest = timestampMs(since);
      let from = checkOffset(offset);
      const stored = await topicsOf(call).get(topic);
      if (stored === undefined) return { events: [], next: 1n };
      const find = async () => {
        for (;;) {
          const { entries, next } = pageOf(await eventsFrom(call, stored, from, limit));
          const events = entries.filter(({ value }) => value.time >= earliest).map(toEvent);
          from = entries.length === 0 ? Math.max(from, stored.next) : offsetOf(entries.at(-1)!) + 1;
          // If all events of a page are older than `since`, the next page is read. A response
          // without events would mean that no events are left.
          if (events.length > 0 || next === "" || call.signal.aborted) return { events, next: BigInt(from) };
        }
      };
      return since === undefined ? find() : call.search(find);
    },

    async listTopics({ after, limit }, call) {
      const { entries, next } = await topicsOf(call).range({
        limit: checkNumber("limit", limit, PAGE),
        after: checkAfter(after),
      });
      const topics = entries.map(({ key, value }) => ({ name: key, nextOffset: BigInt(value.next) }));
      return { topics, next: next ?? "" };
    },

    async deleteTopic({ topic }, call) {
      checkName("topic", topic);
      await deleteTopic(call, topic);
      return {};
    },
  }),
];

function toEvent(entry: Entry<StoredEvent>): ConsumeResponse {
  const { payload, time } = entry.value;
  return { offset: BigInt(offsetOf(entry)), time: toTimestamp(time), payload: payload as ConsumeResponse["payload"] };
}

/** @returns the offset as a number; 1 for 0 */
function checkOffset(offset: bigint): number {
  if (offset >= 0n && offset <= BigInt(Number.MAX_SAFE_INTEGER)) return Math.max(1, Number(offset));
  throw invalidArgument(`offset: must be from 0 to ${Number.MAX_SAFE_INTEGER}, got ${offset}`);
}

/** The offset of the next event to be published. */
async function nextOf(call: Call, topic: string): Promise<number> {
  return (await topicsOf(call).get(topic))?.next ?? 1;
}

/**
 * Sends the events from an offset on, and then new ones as they are published.
 * @param turn ends the stream when the turn is lost
 * @throws {StatusError} NOT_FOUND if the topic is deleted
 */
async function* follow(call: Call, topic: string, start: number, turn?: Turn): AsyncGenerator<ConsumeResponse> {
  let next = start;
  let id: string | undefined;
  for await (const stored of statesOf(call, topic, turn)) {
    if (id !== undefined && stored?.id !== id) throw notFound(`The topic ${topic} was deleted`);
    id = stored?.id;
    while (stored !== undefined && next < stored.next && !call.signal.aborted && turn?.lost !== true) {
      const { entries } = await eventsFrom(call, stored, next, MAX_READ);
      for (const entry of entries) yield toEvent(entry);
      next = entries.length === 0 ? stored.next : offsetOf(entries.at(-1)!) + 1;
    }
  }
}

/** The topic as it is now, and after each of its changes; undefined while it does not exist. */
async function* statesOf(call: Call, topic: string, turn?: Turn): AsyncGenerator<StoredTopic | undefined> {
  while (!call.signal.aborted && turn?.lost !== true) {
    const changes = topicsOf(call).watch(topic, await topicsOf(call).revision());
    turn?.onLost(() => changes.return());
    yield await topicsOf(call).get(topic);
    try {
      for await (const { key, value } of changes) if (key === topic) yield value;
      return;
    } catch (error) {
      // The consumer was too slow for the log of changes. The events are kept for longer.
      if (!(error instanceof StatusError && error.code === Code.OUT_OF_RANGE)) throw error;
    }
  }
}
