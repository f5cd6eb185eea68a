import t from "tap";
import { parts } from "../../services/event/event.js";
import { Code } from "../../src/errors.js";
import { type Calls, type Message, serveCatalogue, withoutConditions } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";

const topic = "orders";
const group = "mailer";

/** Publishes events with the payloads `{ number: 1 }` and so on. */
async function publish(call: Calls["call"], ...numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await call("Publish", { topic, payload: { number } });
}

/** The next messages of a stream. */
async function take(stream: AsyncGenerator<Message>, count: number): Promise<Message[]> {
  const events: Message[] = [];
  while (events.length < count) events.push((await stream.next()).value);
  return events;
}

const numbersOf = (events: readonly Message[]): number[] => events.map(({ payload }) => payload.number);

t.test("an event is published at the next offset, and can be read again", async (t) => {
  const { call } = serveCatalogue(t, "event", parts);
  t.same(await call("Publish", { topic, payload: { number: 1 } }), { offset: "1" });
  t.same(await call("Publish", { topic, payload: { number: 2 } }), { offset: "2" });
  const { events, next } = await call("Read", { topic });
  t.match(events, [
    { offset: "1", payload: { number: 1 } },
    { offset: "2", payload: { number: 2 } },
  ]);
  t.equal(next, "3");
});

t.test("a replay begins at any offset or time, and continues page by page", async (t) => {
  const { call } = serveCatalogue(t, "event", parts);
  await publish(call, 1, 2, 3, 4);
  const first = await call("Read", { topic, offset: 2, limit: 2 });
  t.same(numbersOf(first.events), [2, 3]);
  const second = await call("Read", { topic, offset: first.next, limit: 2 });
  t.same(numbersOf(second.events), [4]);
  t.same(await call("Read", { topic, offset: second.next }), { events: [], next: "5" });

  const [, , third] = (await call("Read", { topic })).events;
  const since = await call("Read", { topic, since: third.time, limit: 1 });
  t.ok(numbersOf(since.events)[0]! <= 3, "also where the events before it fill pages");
  t.same(await call("Read", { topic, since: "2999-01-01T00:00:00Z", limit: 1 }), { events: [], next: "5" });
});

t.test("a topic without events is empty", async (t) => {
  const { call } = serveCatalogue(t, "event", parts);
  t.same(await call("Read", { topic }), { events: [], next: "1" });
});

t.test("a consumer without a group", async (t) => {
  t.test("gets events that are published from now on", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1);
    const events = stream("Consume", { topic });
    const first = events.next();
    let received = false;
    void first.then(() => {
      received = true;
    });
    // The stream may begin before or after any of these events, but after the first.
    for (let number = 2; !received; number++) await publish(call, number);
    t.ok((await first).value.payload.number > 1);
  });

  t.test("gets a replay, and then new events", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2);
    const events = stream("Consume", { topic, offset: 2 });
    t.same(numbersOf(await take(events, 1)), [2]);
    const [[third]] = await Promise.all([take(events, 1), publish(call, 3)]);
    t.match(third, { offset: "3", payload: { number: 3 } });
  });

  t.test("can wait for a topic that does not exist yet", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    const [[first]] = await Promise.all([take(stream("Consume", { topic, offset: 1 }), 1), publish(call, 1)]);
    t.match(first, { offset: "1" });
  });

  t.test("also gets events that another process publishes", async (t) => {
    const folder = temporaryFolder(t);
    const one = serveCatalogue(t, "event", parts, { folder });
    await publish(one.call, 1);
    const other = serveCatalogue(t, "event", parts, { folder });
    await publish(other.call, 2);
    t.same(numbersOf(await take(one.stream("Consume", { topic, offset: 1 }), 2)), [1, 2]);
  });

  t.test("ends when its caller leaves", async (t) => {
    const { stream } = serveCatalogue(t, "event", parts);
    const leave = new AbortController();
    const ended = stream("Consume", { topic }, { signal: leave.signal }).next();
    leave.abort();
    t.same(await ended, { done: true, value: undefined });
  });

  t.test("ends with NOT_FOUND when the topic is deleted", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1);
    const events = stream("Consume", { topic, offset: 1 });
    await take(events, 1);
    const ended = t.rejects(events.next(), { code: Code.NOT_FOUND });
    await call("DeleteTopic", { topic });
    await ended;
  });
});

t.test("a group", async (t) => {
  t.test("begins with the oldest event", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2);
    t.same(numbersOf(await take(stream("Consume", { topic, group }), 2)), [1, 2]);
  });

  t.test("begins at a chosen offset, and later continues where it stopped", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2, 3);
    const first = stream("Consume", { topic, group, offset: 2 });
    t.same(numbersOf(await take(first, 1)), [2]);
    await call("Acknowledge", { topic, group, offset: 2 });
    await first.return(undefined);
    t.same(numbersOf(await take(stream("Consume", { topic, group, offset: 1 }), 1)), [3]);
  });

  t.test("gets an event again until it is acknowledged", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2, 3);
    const first = stream("Consume", { topic, group });
    t.same(numbersOf(await take(first, 3)), [1, 2, 3]);
    await call("Acknowledge", { topic, group, offset: 1 });
    await first.return(undefined);
    t.same(numbersOf(await take(stream("Consume", { topic, group }), 2)), [2, 3]);
  });

  t.test("does not move back", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2, 3);
    await call("Acknowledge", { topic, group, offset: 2 });
    await call("Acknowledge", { topic, group, offset: 1 });
    t.same(numbersOf(await take(stream("Consume", { topic, group }), 1)), [3]);
  });

  t.test("may be begun by several calls at the same time", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2, 3);
    const events = stream("Consume", { topic, group });
    const first = events.next();
    const acknowledged = Array.from({ length: 8 }, () => call("Acknowledge", { topic, group, offset: 2 }));
    await Promise.all([first, ...acknowledged]);
    await events.return(undefined);
    t.same(numbersOf(await take(stream("Consume", { topic, group }), 1)), [3]);
  });

  t.test("is independent of other groups", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2);
    await call("Acknowledge", { topic, group, offset: 2 });
    t.same(numbersOf(await take(stream("Consume", { topic, group: "audit" }), 2)), [1, 2]);
  });

  t.test("delivers events to one consumer, and to the next one when the first leaves", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1);
    const first = stream("Consume", { topic, group });
    await take(first, 1);
    const second = stream("Consume", { topic, group });
    const waiting = second.next();
    await call("Acknowledge", { topic, group, offset: 1 });
    await Promise.all([publish(call, 2), take(first, 1)]);
    await call("Acknowledge", { topic, group, offset: 2 });
    await first.return(undefined);
    await publish(call, 3);
    t.match((await waiting).value, { offset: "3" });
  });

  t.test("loses no event when a consumer leaves in the middle", async (t) => {
    const { call, stream } = serveCatalogue(t, "event", parts);
    await publish(call, 1, 2, 3, 4, 5);
    const seen = new Set<number>();
    for (let offset = 0; offset < 5; ) {
      const consumer = stream("Consume", { topic, group });
      for (const { payload, offset: at } of await take(consumer, Math.min(2, 5 - offset))) {
        seen.add(payload.number);
        // It leaves before it has acknowledged the second event.
        if (Number(at) === offset + 1) await call("Acknowledge", { topic, group, offset: at });
      }
      await consumer.return(undefined);
      offset++;
    }
    t.same([...seen], [1, 2, 3, 4, 5]);
  });

  t.test("cannot acknowledge an event that was not published", async (t) => {
    const { call } = serveCatalogue(t, "event", parts);
    await publish(call, 1);
    for (const offset of [0, 2]) {
      await t.rejects(call("Acknowledge", { topic, group, offset }), { code: Code.OUT_OF_RANGE, message: /^offset: / });
    }
    await t.rejects(call("Acknowledge", { topic: "other", group, offset: 1 }), { code: Code.NOT_FOUND });
  });
});

t.test("64 concurrent publishers", async (t) => {
  const race = async (call: Calls["call"]) => {
    await publish(call, 0);
    const racers = Array.from({ length: 64 }, (_, number) =>
      call("Publish", { topic, payload: { number: number + 1 } }),
    );
    const offsets = new Set((await Promise.all(racers)).map(({ offset }) => offset));
    return { offsets: offsets.size, events: (await call("Read", { topic, limit: 1000 })).events.length };
  };
  t.test("lose no event, and each event has its own offset", async (t) => {
    const { call } = serveCatalogue(t, "event", parts);
    t.same(await race(call), { offsets: 64, events: 65 });
  });
  t.test("lose events without the safeguard", async (t) => {
    const { call } = serveCatalogue(t, "event", parts, { through: withoutConditions });
    const { events } = await race(call);
    t.ok(events < 65, `${events} of 65`);
  });
});

t.test("topics are listed and deleted", async (t) => {
  const { call } = serveCatalogue(t, "event", parts);
  await publish(call, 1, 2);
  await call("Publish", { topic: "letters", payload: {} });
  t.same(await call("ListTopics", { limit: 1 }), { topics: [{ name: "letters", nextOffset: "2" }], next: "letters" });
  t.same((await call("ListTopics", { after: "letters" })).topics, [{ name: "orders", nextOffset: "3" }]);
  await call("Acknowledge", { topic, group, offset: 2 });
  await call("DeleteTopic", { topic });
  await t.rejects(call("DeleteTopic", { topic }), { code: Code.NOT_FOUND });
  t.same(await call("Publish", { topic, payload: { number: 3 } }), { offset: "1" }, "a new topic begins anew");
  t.same(numbersOf((await call("Read", { topic })).events), [3]);
});

t.test("accounts of a namespace share the topics; namespaces do not", async (t) => {
  const { call } = serveCatalogue(t, "event", parts);
  await publish(call, 1);
  t.equal((await call("Read", { topic }, { account: "bob" })).events.length, 1);
  t.same((await call("Read", { topic }, { namespace: "other" })).events, []);
  t.same((await call("ListTopics", {}, { namespace: "other" })).topics, []);
});

const { call, stream } = serveCatalogue(t, "event", parts);

const WRONG = [
  { endpoint: "Publish", request: { payload: {} }, field: "topic" },
  { endpoint: "Publish", request: { topic: "a/b", payload: {} }, field: "topic" },
  { endpoint: "Publish", request: { topic }, field: "payload" },
  { endpoint: "Publish", request: { topic, payload: { text: "x".repeat(65_536) } }, field: "payload" },
  { endpoint: "Consume", request: {}, field: "topic" },
  { endpoint: "Consume", request: { topic, group: "a/b" }, field: "group" },
  { endpoint: "Consume", request: { topic, group, offset: -1 }, field: "offset" },
  { endpoint: "Consume", request: { topic, offset: -1 }, field: "offset" },
  { endpoint: "Acknowledge", request: { topic }, field: "group" },
  { endpoint: "Read", request: { topic, offset: -1 }, field: "offset" },
  { endpoint: "Read", request: { topic, limit: 1001 }, field: "limit" },
  { endpoint: "ListTopics", request: { after: "a/b" }, field: "after" },
  { endpoint: "DeleteTopic", request: {}, field: "topic" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 60)} and names the field`, async (t) => {
    const done = endpoint === "Consume" ? stream(endpoint, request).next() : call(endpoint, request);
    await t.rejects(done, { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
