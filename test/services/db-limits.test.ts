// How much db reads in one call; and numbers that JSON cannot represent, but gRPC requests can
// have.
import t from "tap";
import { parts } from "../../services/db/db.js";
import { recordsOf, type StoredRecord, tablesOf } from "../../services/db/tables.js";
import type { Filter } from "../../src/gen/db/db.js";
import { Operator } from "../../src/gen/db/db.js";
import { Code, testCall } from "../../src/kit/index.js";

const call = testCall({ account: "ada" });
// biome-ignore lint/suspicious/noExplicitAny: requests are as gRPC decodes them.
const db = parts[0]!.implementation as Record<string, (request: object, call: unknown) => any>;

/** Calls an endpoint like over gRPC: omitted fields have their default values. */
const defaults = { id: "", after: undefined, limit: 0, indexes: [], filter: undefined };
const ask = (endpoint: string, request: object) => db[endpoint]!({ ...defaults, ...request }, call);

function comparing(field: string, operator: Operator, value: unknown): Filter {
  return { field, operator, value: value as Filter["value"], and: [], or: [], not: undefined };
}

/** Writes records of a table, without index entries and without counting them. */
async function fill(table: string, count: number): Promise<void> {
  await ask("createTable", { table });
  const { id } = (await tablesOf(call).get(table))!;
  const value: StoredRecord = { fields: { kind: "a" }, created: 1, updated: 1, revision: 1 };
  for (let start = 0; start < count; start += 50) {
    const numbers = Array.from({ length: Math.min(50, count - start) }, (_, index) => start + index);
    await recordsOf(call).commit(numbers.map((number) => ({ set: `${id}/r${`${number}`.padStart(5, "0")}`, value })));
  }
}

const ALL = comparing("kind", Operator.EQUAL, "a");

t.test("a table of 10,000 records is counted in one call", async (t) => {
  await fill("exact", 10_000);
  t.same(await ask("count", { table: "exact", filter: ALL }), { count: 10_000, next: "" });
});

t.test(
  "a larger table is counted in several calls if the caller asks for parts; otherwise the error says what to do",
  async (t) => {
    await fill("large", 10_050);
    await t.rejects(ask("count", { table: "large", filter: ALL }), {
      code: Code.RESOURCE_EXHAUSTED,
      message: /^filter: .*Index the field.* set `after` to an empty text/s,
    });
    const first = await ask("count", { table: "large", filter: ALL, after: "" });
    t.same(first, { count: 10_000, next: "r09999" });
    t.same(await ask("count", { table: "large", filter: ALL, after: first.next }), { count: 50, next: "" });
    t.same(await ask("count", { table: "large", after: "r10039" }), { count: 10, next: "" }, "also without a filter");
  },
);

const NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

for (const number of NUMBERS) {
  t.test(`${number} is refused in every field, and the error names the field`, async (t) => {
    await ask("create", { table: "finite", id: `x${number}`, fields: { age: 1 } });
    const refused = (field: string) => ({
      code: Code.INVALID_ARGUMENT,
      message: `${field}: must be a number of JSON, got ${number}`,
    });
    const make = (fields: object) => ask("create", { table: "finite", fields });
    await t.rejects(make({ age: number }), refused("fields.age"));
    await t.rejects(make({ a: { b: [1, { c: number }] } }), refused("fields.a.b[1].c"));
    await t.rejects(
      ask("update", { table: "finite", id: `x${number}`, fields: { age: number }, revision: 0n }),
      refused("fields.age"),
    );
    for (const value of [number, [1, number]]) {
      const filter = comparing("age", Operator.IN, value);
      const field = Array.isArray(value) ? "filter.value[1]" : "filter.value";
      await t.rejects(ask("read", { table: "finite", filter, after: "" }), refused(field));
    }
  });
}
