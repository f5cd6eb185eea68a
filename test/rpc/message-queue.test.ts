import t from "tap";
import { MAX_QUEUED_BYTES, MAX_QUEUED_MESSAGES, MessageQueue } from "../../src/rpc/message-queue.js";

/** A queue of texts. `done` lists the calls that it made to its sender. */
function open() {
  const done: string[] = [];
  const queue = new MessageQueue(
    (bytes) => {
      const text = Buffer.from(bytes).toString();
      if (text === "malformed") throw new SyntaxError(text);
      return text;
    },
    {
      pause: () => void done.push("pause"),
      resume: () => void done.push("resume"),
      abandon: () => void done.push("abandon"),
    },
  );
  return { queue, done, push: (text: string) => queue.push(Buffer.from(text)) };
}

const END = { done: true, value: undefined };

t.test("messages are read in order, whether `push` or `next` comes first", async (t) => {
  const { queue, push } = open();
  push("a");
  push("b");
  const taken = [queue.next(), queue.next(), queue.next(), queue.next()];
  push("c");
  queue.end();
  t.match(await Promise.all(taken), [{ value: "a" }, { value: "b" }, { value: "c" }, END]);
});

t.test("messages that were pushed before the end are still read", async (t) => {
  const { queue, push } = open();
  push("a");
  queue.end();
  push("after the end");
  t.match([await queue.next(), await queue.next(), await queue.next()], [{ value: "a" }, END, END]);
});

for (const [what, count, size] of [
  ["messages", MAX_QUEUED_MESSAGES, 1],
  ["bytes", 2, MAX_QUEUED_BYTES / 2],
] as const) {
  t.test(`many waiting ${what} pause the sender until the reader has read all of them`, async (t) => {
    const { queue, done, push } = open();
    for (let i = 1; i < count; i++) push("a".repeat(size));
    t.same(done, []);
    push("a".repeat(size));
    t.same(done, ["pause"]);
    for (let i = 1; i < count; i++) await queue.next();
    t.same(done, ["pause"]);
    await queue.next();
    t.same(done, ["pause", "resume"]);
  });
}

t.test("an error given to `end` is thrown once, after the waiting messages", async (t) => {
  const { queue, push } = open();
  push("a");
  queue.end(new Error("failed"));
  queue.end(new Error("again"));
  t.match(await queue.next(), { value: "a" });
  await t.rejects(queue.next(), { message: "failed" });
  t.match(await queue.next(), END);
});

t.test("a reader that has stopped gets no error", async (t) => {
  const { queue, push } = open();
  push("a");
  push("b");
  queue.end(new Error("failed"));
  for await (const _text of queue) break;
  t.match(await queue.next(), END);
});

t.test("`fail` after `end` still reaches a reader that has not read everything", async (t) => {
  const { queue, push } = open();
  push("a");
  queue.end();
  queue.fail(new Error("cancelled"));
  await t.rejects(queue.next(), { message: "cancelled" });
});

t.test("`fail` drops the waiting messages, and its error is thrown once", async (t) => {
  const { queue, push } = open();
  push("a");
  queue.fail(new Error("first"));
  queue.fail(new Error("second"));
  await t.rejects(queue.next(), { message: "first" });
  t.match(await queue.next(), END);
});

t.test("`fail` reaches a reader that is waiting", async (t) => {
  const { queue } = open();
  const taken = [queue.next(), queue.next()];
  queue.fail(new Error("broken"));
  await t.rejects(taken[0] as Promise<unknown>, { message: "broken" });
  t.match(await taken[1], END);
});

t.test("a malformed message throws to the reader and abandons the sender", async (t) => {
  const { queue, done, push } = open();
  push("malformed");
  push("b");
  await t.rejects(queue.next(), { name: "SyntaxError" });
  t.same(done, ["abandon"]);
  t.match(await queue.next(), END);
});

t.test("a reader that stops early abandons the sender; one that stops at the end does not", async (t) => {
  const early = open();
  early.push("a");
  early.push("b");
  for await (const _text of early.queue) break;
  t.same(early.done, ["abandon"]);
  t.match(await early.queue.next(), END);

  const late = open();
  late.push("a");
  late.queue.end();
  for await (const _text of late.queue);
  await late.queue.return();
  t.same(late.done, ["resume"], "nothing waits any more");
});
