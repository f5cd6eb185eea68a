/** Topics with their events and groups, as they are stored. */
import { randomUUID } from "node:crypto";
import {
  type Call,
  type Entry,
  notFound,
  type Range,
  resourceExhausted,
  type Store,
  type Write,
} from "../../src/kit/index.js";
import { deferDelete, deleteExpired } from "../patterns/deferred-delete.js";
import { retry } from "../patterns/retry.js";

/** The maximum number of topics in a namespace. */
const MAX_TOPICS = 1000;
/** The maximum number of groups of a topic. */
const MAX_GROUPS = 100;
/** The maximum number of stored events of a topic, and how long they are stored. */
const MAX_EVENTS = 10_000;
const EVENT_TTL_MS = 604_800_000;
/** The number of digits of an offset in a key, so that keys sort by offset. */
const DIGITS = 16;

/** A topic, stored under its name. */
export interface StoredTopic {
  /**
   * The prefix of the keys of its events and groups. A later topic with the same name has another
   * one.
   */
  readonly id: string;
  /** The offset of the next event. */
  readonly next: number;
  readonly groups: number;
}

/** An event, stored under the ID of its topic and its offset. */
export interface StoredEvent {
  readonly payload: object;
  /** In milliseconds since 1970. */
  readonly time: number;
}

/** A group, stored under the ID of its topic and its name. */
interface StoredGroup {
  /** The offset of the last event that the group acknowledged; 0 for none. */
  readonly acknowledged: number;
}

export function topicsOf(call: Call): Store<StoredTopic> {
  return call.store<StoredTopic>("topics");
}

/**
 * Adds an event. The first event creates the topic.
 * @returns its offset
 */
export function append(call: Call, name: string, event: StoredEvent): Promise<number> {
  return changeTopic(call, name, async (topic) => ({
    topic: { ...topic, next: topic.next + 1 },
    writes: [
      { set: eventKey(topic, topic.next), value: event, ttlMs: EVENT_TTL_MS, collection: "events" },
      { delete: eventKey(topic, topic.next - MAX_EVENTS), collection: "events" },
    ],
    result: topic.next,
  }));
}

/** The events of a topic from an offset on. */
export function eventsFrom(call: Call, topic: StoredTopic, offset: number, limit: number): Promise<Range<StoredEvent>> {
  const after = eventKey(topic, offset - 1);
  return call.store<StoredEvent>("events").range({ prefix: `${topic.id}/`, after, limit });
}

export function offsetOf({ key }: Entry<unknown>): number {
  return Number(key.slice(-DIGITS));
}

/**
 * Returns the offset that a group acknowledged last; 0 for none. If the group or its topic does not
 * exist, it is created.
 * @param start the offset with which a new group begins
 */
export function acknowledgedBy(call: Call, name: string, group: string, start = 1): Promise<number> {
  const acknowledged = start - 1;
  return changeTopic(call, name, async (topic) => {
    // Read in each attempt, because another call may have created it since the one before.
    const stored = await groupsOf(call).get(`${topic.id}/${group}`);
    if (stored !== undefined) return { topic, writes: [], result: stored.acknowledged };
    if (topic.groups >= MAX_GROUPS) throw resourceExhausted(`The topic ${name} has ${MAX_GROUPS} groups`);
    return {
      topic: { ...topic, groups: topic.groups + 1 },
      writes: [{ set: `${topic.id}/${group}`, value: { acknowledged }, ifAbsent: true, collection: "groups" }],
      result: acknowledged,
    };
  });
}

/** Moves a group forward, never back. */
export async function acknowledge(call: Call, topic: StoredTopic, group: string, offset: number): Promise<void> {
  await groupsOf(call).update(`${topic.id}/${group}`, (stored) => ({
    acknowledged: Math.max(stored?.acknowledged ?? 0, offset),
  }));
}

/**
 * Deletes a topic with its events and groups.
 * @throws {StatusError} NOT_FOUND
 */
export function deleteTopic(call: Call, name: string): Promise<true> {
  return retry(call, name, async () => {
    const entry = await topicsOf(call).getEntry(name);
    if (entry === undefined) throw notFound(`There is no topic ${name}`);
    const { committed } = await topicsOf(call).commit([
      { delete: name, ifVersion: entry.version },
      { increment: "topics", by: -1, collection: "counts" },
      deferDelete(entry.value.id, ["events", "groups"]),
    ]);
    if (!committed) return undefined;
    await deleteExpired(call);
    return true;
  });
}

function groupsOf(call: Call): Store<StoredGroup> {
  return call.store<StoredGroup>("groups");
}

function eventKey({ id }: StoredTopic, offset: number): string {
  return `${id}/${`${Math.max(0, offset)}`.padStart(DIGITS, "0")}`;
}

/** The result of a change to a topic. */
interface Change<T> {
  /** The same as before if there is nothing to change. */
  readonly topic: StoredTopic;
  readonly writes: readonly Write[];
  readonly result: T;
}

/**
 * Changes a topic, on the condition that it has not changed since it was read. Creates the topic if
 * it does not exist.
 * @param change called again after a lost race
 */
function changeTopic<T>(call: Call, name: string, change: (topic: StoredTopic) => Promise<Change<T>>): Promise<T> {
  return retry(call, name, async () => {
    const entry = await topicsOf(call).getEntry(name);
    const present = entry?.value ?? { id: randomUUID(), next: 1, groups: 0 };
    const { topic, writes, result } = await change(present);
    if (topic === present) return result;
    const own: Write[] =
      entry === undefined
        ? [
            { increment: "topics", by: 1, max: MAX_TOPICS, collection: "counts" },
            { set: name, value: topic, ifAbsent: true },
          ]
        : [{ set: name, value: topic, ifVersion: entry.version }];
    const done = await topicsOf(call).commit([...own, ...writes]);
    if (done.committed) return result;
    if (entry === undefined && done.failed === 0)
      throw resourceExhausted(`There are ${MAX_TOPICS} topics: delete some first`);
    return undefined;
  });
}
