import assert from "node:assert/strict";
import test from "node:test";
import { testCall } from "portico/service";
import { handlers } from "./tickets.js";

const printer = { number: 1, title: "The printer is out of paper", author: "ada", closed: false };

test("numbers tickets, and lists the newest first", async () => {
  const call = testCall({ account: "ada", namespace: "listed" });
  assert.deepEqual(await handlers.create({ title: printer.title }, call), printer);
  await handlers.create({ title: "The door is stuck" }, call);
  const { tickets } = await handlers.list({ before: 0 }, call);
  assert.deepEqual(
    tickets.map(({ number }) => number),
    [2, 1],
  );
  assert.deepEqual(await handlers.list({ before: 2 }, call), { tickets: [printer] });
});

test("refuses a ticket without a title", async () => {
  await assert.rejects(async () => handlers.create({ title: "" }, testCall()), /title: must have 1 to 200 characters/);
});

test("closes a ticket once", async () => {
  const call = testCall({ account: "ada", namespace: "closed" });
  await handlers.create({ title: printer.title }, call);
  const close = async () => handlers.close({ number: 1 }, call);
  const [first, second] = await Promise.allSettled([close(), close()]);
  assert.deepEqual([first.status, second.status].sort(), ["fulfilled", "rejected"]);
  await assert.rejects(close, /Ticket 1 is closed already/);
});

test("sends tickets as they are, then as they change", async () => {
  const call = testCall({ account: "ada", namespace: "watched" });
  await handlers.create({ title: printer.title }, call);
  const changes = handlers.watch({}, call)[Symbol.asyncIterator]();
  assert.deepEqual((await changes.next()).value, printer);
  await handlers.close({ number: 1 }, call);
  assert.deepEqual((await changes.next()).value, { ...printer, closed: true });
});
