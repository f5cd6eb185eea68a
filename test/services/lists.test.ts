import t from "tap";
import { parts } from "../../services/lists/lists.js";
import { Code } from "../../src/errors.js";
import { type Calls, serveCatalogue, withoutConditions } from "../support/catalogue.js";

const RACERS = 64;
const list = "groceries";

/** All items of a list. */
async function itemsOf(call: Calls["call"], name = list): Promise<string[]> {
  return (await call("Range", { list: name, limit: 1000 })).items;
}

t.test("is a queue: the item that was pushed first is popped first", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  t.same(await call("Push", { list, items: ["tea"] }), { length: 1 });
  t.same(await call("Push", { list, items: ["bread", "jam"] }), { length: 3 });
  t.same(await call("Pop", { list }), { items: ["tea"], length: 2 });
  t.same(await call("Pop", { list, count: 5 }), { items: ["bread", "jam"], length: 0 });
  t.same(await call("Pop", { list }), { items: [], length: 0 });
});

t.test("is a stack: the item that was pushed last is popped first", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  await call("Push", { list, items: ["tea", "bread", "jam"] });
  t.same(await call("Pop", { list, end: "BACK" }), { items: ["jam"], length: 2 });
  t.same(await call("Pop", { list, end: "BACK", count: 2 }), { items: ["tea", "bread"], length: 0 });
});

t.test("grows at both ends", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  await call("Push", { list, items: ["c"] });
  await call("Push", { list, items: ["a", "b"], end: "FRONT" });
  await call("Push", { list, items: ["d"], end: "BACK" });
  t.same(await itemsOf(call), ["a", "b", "c", "d"]);
});

const RANGES = [
  { request: {}, items: ["a", "b", "c", "d", "e"] },
  { request: { start: 1, limit: 2 }, items: ["b", "c"] },
  { request: { start: -2 }, items: ["d", "e"] },
  { request: { start: -2, limit: 1 }, items: ["d"] },
  // An index before the first item means the first item.
  { request: { start: -9, limit: 1 }, items: ["a"] },
  { request: { start: 5 }, items: [] },
];

t.test("returns a part of a list", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  await call("Push", { list, items: ["a", "b", "c", "d", "e"] });
  for (const { request, items } of RANGES) {
    t.same(await call("Range", { list, ...request }), { items, length: 5 }, JSON.stringify(request));
  }
});

t.test("a list that does not exist is empty", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  t.same(await call("Range", { list }), { items: [], length: 0 });
});

t.test("a response has as many items as fit into 2 MiB", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  for (let push = 0; push < 3; push++) await call("Push", { list, items: Array(64).fill("x".repeat(16_384)) });
  const { items, length } = await call("Range", { list, limit: 1000 });
  t.equal(length, 192);
  t.equal(items.length, Math.floor(2_097_152 / (16_384 + 2)), "with the quotes of each");
});

t.test("lists the lists that have items, by name", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  await call("Push", { list: "b", items: ["1", "2"] });
  await call("Push", { list: "a", items: ["1"] });
  await call("Push", { list: "c", items: ["1"] });
  await call("Pop", { list: "c" });
  const first = await call("List", { limit: 1 });
  t.same(first, { lists: [{ list: "a", length: 1 }], next: "a" });
  t.same(await call("List", { after: first.next }), { lists: [{ list: "b", length: 2 }], next: "" });
});

t.test("a deleted list is gone, and a new list with its name does not have its items", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  for (let push = 0; push < 4; push++) await call("Push", { list, items: Array(64).fill("old") });
  t.same(await call("Delete", { list }), { deleted: true });
  t.same(await call("Delete", { list }), { deleted: false });
  await call("Push", { list, items: ["new"] });
  t.same(await itemsOf(call), ["new"]);
});

t.test(`${RACERS} concurrent calls`, async (t) => {
  const pushes = (call: Calls["call"]) =>
    Promise.all(
      Array.from({ length: RACERS }, (_, racer) =>
        call("Push", { list, items: [`${racer}a`, `${racer}b`], end: racer % 2 === 0 ? "FRONT" : "BACK" }),
      ),
    );
  t.test("lose no push, and the items of a push stay together", async (t) => {
    const { call } = serveCatalogue(t, "lists", parts);
    const lengths = await pushes(call);
    t.equal(new Set(lengths.map(({ length }) => length)).size, RACERS);
    const items = await itemsOf(call);
    t.equal(new Set(items).size, 2 * RACERS);
    for (let index = 0; index < items.length; index += 2) t.equal(items[index + 1], items[index]!.replace("a", "b"));
  });
  t.test("lose pushes without the safeguard", async (t) => {
    const { call } = serveCatalogue(t, "lists", parts, { through: withoutConditions });
    await call("Push", { list, items: ["first"] });
    await pushes(call);
    const { length } = await call("Range", { list });
    t.ok(length < 2 * RACERS + 1, `${length} of ${2 * RACERS + 1} items`);
  });
  t.test("pop each item once", async (t) => {
    const { call } = serveCatalogue(t, "lists", parts);
    await call("Push", { list, items: Array.from({ length: 50 }, (_, item) => `${item}`) });
    const popped = await Promise.all(Array.from({ length: RACERS }, () => call("Pop", { list })));
    const items = popped.flatMap(({ items }) => items);
    t.equal(items.length, 50);
    t.equal(new Set(items).size, 50);
  });
});

t.test("accounts of a namespace share the lists; namespaces do not", async (t) => {
  const { call } = serveCatalogue(t, "lists", parts);
  await call("Push", { list, items: ["tea"] });
  t.equal((await call("Range", { list }, { account: "bob" })).length, 1);
  t.equal((await call("Range", { list }, { namespace: "other" })).length, 0);
  t.same((await call("List", {}, { namespace: "other" })).lists, []);
});

const { call } = serveCatalogue(t, "lists", parts);

const WRONG = [
  { endpoint: "Push", request: { items: ["tea"] }, field: "list" },
  { endpoint: "Push", request: { list: "a/b", items: ["tea"] }, field: "list" },
  { endpoint: "Push", request: { list }, field: "items" },
  { endpoint: "Push", request: { list, items: Array(65).fill("x") }, field: "items" },
  { endpoint: "Push", request: { list, items: ["tea", "x".repeat(16_385)] }, field: "items\\[1\\]" },
  { endpoint: "Push", request: { list, items: ["tea"], end: 7 }, field: "end" },
  { endpoint: "Pop", request: { list, count: 65 }, field: "count" },
  { endpoint: "Pop", request: { list, count: -1 }, field: "count" },
  { endpoint: "Range", request: { list, limit: 1001 }, field: "limit" },
  { endpoint: "Range", request: {}, field: "list" },
  { endpoint: "Delete", request: {}, field: "list" },
  { endpoint: "List", request: { after: "a/b" }, field: "after" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 60)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
