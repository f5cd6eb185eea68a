// The queue of spans is bounded by number and bytes, and what does not fit is counted.
import t from "tap";
import { type EndedSpan, SpanKind } from "../../src/telemetry/span.js";
import { SpanQueue } from "../../src/telemetry/span-queue.js";

const span = (characters = 0): EndedSpan => ({
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  parentId: undefined,
  isParentRemote: false,
  flags: 1,
  state: undefined,
  name: "x".repeat(characters),
  kind: SpanKind.SERVER,
  startMs: 1,
  endMs: 2,
  attributes: {},
  error: undefined,
});

function open() {
  let full = 0;
  const queue = new SpanQueue({ onFull: () => full++, onDrop() {} });
  return { queue, full: () => full };
}

const fill = (queue: SpanQueue, count: number, characters?: number): void => {
  for (let index = 0; index < count; index++) queue.add(span(characters));
};

t.test("at most 4,096 spans wait", async (t) => {
  const { queue } = open();
  fill(queue, 4_100);
  t.equal(queue.size, 4_096);
  t.same([...queue.dropped], [["queue_full", 4]]);
});

t.test("at most about 4 MiB wait", async (t) => {
  const { queue } = open();
  fill(queue, 100, 64 * 1024);
  t.ok(queue.size >= 60 && queue.size <= 64, `${queue.size} spans`);
  t.same([...queue.dropped], [["queue_full", 100 - queue.size]]);
});

t.test("a quarter of the queue is kept from requests that others have sampled", async (t) => {
  const { queue } = open();
  fill(queue, 3_071);
  t.ok(queue.hasRoom(true));
  fill(queue, 1);
  t.notOk(queue.hasRoom(true));
  t.ok(queue.hasRoom(false));
});

t.test("a full batch is reported once, and batches are bounded", async (t) => {
  const { queue, full } = open();
  fill(queue, 511);
  t.equal(full(), 0);
  fill(queue, 600);
  t.equal(full(), 1);
  t.same([queue.take().length, queue.take().length, queue.take().length, queue.take().length], [512, 512, 87, 0]);
  fill(queue, 30, 64 * 1024);
  t.equal(full(), 2, "by bytes");
  t.ok(queue.take().length <= 9);
});
