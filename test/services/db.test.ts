import t from "tap";
import { parts } from "../../services/db/db.js";
import { Code } from "../../src/errors.js";
import { type Calls, type Message, overriding, serveCatalogue, withoutConditions } from "../support/catalogue.js";

const table = "people";

const PEOPLE = {
  ada: { name: "Ada", age: 36, address: { city: "London" }, tags: ["math", "poetry"], active: true },
  bob: { name: "Bob", age: 41, address: { city: "Leeds" }, tags: [], active: false },
  cleo: { name: "Cleo", age: 36.5, address: { city: "Rome" }, email: null },
  dora: { name: "Dora", age: "41", active: true },
};

/** Fills a table with PEOPLE. */
async function fill(call: Calls["call"], indexes?: readonly string[]): Promise<void> {
  if (indexes !== undefined) await call("CreateTable", { table, indexes });
  for (const [id, fields] of Object.entries(PEOPLE)) await call("Create", { table, id, fields });
}

const idsOf = ({ records }: Message): string[] => records.map(({ id }: Message) => id);

t.test("a record is created, read, changed and deleted", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  const created = await call("Create", { table, id: "ada", fields: PEOPLE.ada });
  t.match(created, { id: "ada", fields: PEOPLE.ada, revision: "1" });
  await t.rejects(call("Create", { table, id: "ada", fields: {} }), { code: Code.ALREADY_EXISTS });
  t.same(await call("Read", { table, id: "ada" }), { records: [created], next: "" });

  const updated = await call("Update", { table, id: "ada", fields: { age: 37, active: null } });
  const { active, ...rest } = PEOPLE.ada;
  t.same(updated.fields, { ...rest, age: 37 }, "given fields are replaced, null removes one, the rest stays");
  t.equal(updated.revision, "2");

  t.same(await call("Delete", { table, id: "ada" }), { deleted: true });
  t.same(await call("Delete", { table, id: "ada" }), { deleted: false });
  t.same(await call("Read", { table, id: "ada" }), { records: [], next: "" });
  await t.rejects(call("Update", { table, id: "ada", fields: {} }), { code: Code.NOT_FOUND });
});

t.test("a field may have any name", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  const fields = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');
  await call("CreateTable", { table, indexes: ["__proto__.admin"] });
  await call("Create", { table, id: "odd", fields });
  await call("Update", { table, id: "odd", fields: JSON.parse('{"__proto__": {"admin": false}}') });
  const filter = { field: "__proto__.admin", value: false };
  const { records } = await call("Read", { table, filter });
  t.equal(JSON.stringify(records[0].fields), '{"__proto__":{"admin":false},"constructor":1}');
});

t.test("a record without an ID gets one, and newer IDs sort after older ones", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  const ids: string[] = [];
  for (let index = 0; index < 3; index++) ids.push((await call("Create", { table, fields: {} })).id);
  t.same(ids, [...ids].sort());
  t.equal(new Set(ids).size, 3);
});

t.test("an update with an older revision is refused", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  await call("Create", { table, id: "ada", fields: { age: 36 } });
  await call("Update", { table, id: "ada", fields: { age: 37 }, revision: 1 });
  await t.rejects(call("Update", { table, id: "ada", fields: { age: 38 }, revision: 1 }), { code: Code.ABORTED });
});

const FILTERS = [
  { filter: undefined, ids: ["ada", "bob", "cleo", "dora"] },
  { filter: { field: "name", value: "Ada" }, ids: ["ada"] },
  { filter: { field: "name", operator: "NOT_EQUAL", value: "Ada" }, ids: ["bob", "cleo", "dora"] },
  { filter: { field: "age", operator: "LESS", value: 36.5 }, ids: ["ada"] },
  { filter: { field: "age", operator: "LESS_OR_EQUAL", value: 36.5 }, ids: ["ada", "cleo"] },
  // A text is neither less nor greater than a number.
  { filter: { field: "age", operator: "GREATER", value: 36 }, ids: ["bob", "cleo"] },
  { filter: { field: "age", operator: "GREATER_OR_EQUAL", value: 41 }, ids: ["bob"] },
  { filter: { field: "age", operator: "GREATER", value: "4" }, ids: ["dora"] },
  { filter: { field: "name", operator: "GREATER_OR_EQUAL", value: "Bob" }, ids: ["bob", "cleo", "dora"] },
  { filter: { field: "name", operator: "LESS", value: "Bob" }, ids: ["ada"] },
  { filter: { field: "name", operator: "STARTS_WITH", value: "C" }, ids: ["cleo"] },
  { filter: { field: "name", operator: "CONTAINS", value: "o" }, ids: ["bob", "cleo", "dora"] },
  { filter: { field: "tags", operator: "CONTAINS", value: "math" }, ids: ["ada"] },
  { filter: { field: "tags", value: [] }, ids: ["bob"] },
  { filter: { field: "name", operator: "IN", value: ["Ada", "Dora", "Eve"] }, ids: ["ada", "dora"] },
  { filter: { field: "active", value: true }, ids: ["ada", "dora"] },
  { filter: { field: "address.city", value: "Rome" }, ids: ["cleo"] },
  { filter: { field: "address", value: { city: "Rome" } }, ids: ["cleo"] },
  // Null and absent are equal.
  { filter: { field: "email", value: null }, ids: ["ada", "bob", "cleo", "dora"] },
  { filter: { field: "address", value: null }, ids: ["dora"] },
  { filter: { field: "toString", operator: "NOT_EQUAL", value: null }, ids: [] },
  {
    filter: {
      and: [
        { field: "age", operator: "GREATER_OR_EQUAL", value: 36 },
        { field: "active", value: true },
      ],
    },
    ids: ["ada"],
  },
  {
    filter: {
      or: [
        { field: "name", value: "Ada" },
        { field: "age", value: 41 },
      ],
    },
    ids: ["ada", "bob"],
  },
  { filter: { not: { field: "active", value: true } }, ids: ["bob", "cleo"] },
  { filter: { and: [{ not: { field: "name", value: "Ada" } }, { field: "active", value: true }] }, ids: ["dora"] },
];

const INDEXES = { none: undefined, all: ["name", "age", "active", "address.city", "tags", "email", "address"] };

for (const [which, indexes] of Object.entries(INDEXES)) {
  t.test(`filters, with indexes on ${which} of the fields`, async (t) => {
    const { call } = serveCatalogue(t, "db", parts);
    await fill(call, indexes);
    for (const { filter, ids } of FILTERS) {
      t.same(idsOf(await call("Read", { table, filter })), ids, JSON.stringify(filter));
      t.same(await call("Count", { table, filter }), { count: ids.length, next: "" });
    }
  });
}

/**
 * Values whose order as index keys differs from the order of their texts, or whose texts are cut.
 */
const VALUES = [
  ...[-1e308, -10, -9.5, -1, -0.1, 0, 1e-300, 0.1, 1, 9.5, 10, 1e308],
  ...["", "\u0000", "a", "a\u0000b", "a\u0001", "a\u0001a", "aa", "b", "é", "\ud83d\ude00"],
  ...["x".repeat(64), "x".repeat(65), `${"x".repeat(64)}y`, "\u{10ffff}"],
  ...[true, false, null, [1], { a: 1 }],
];

t.test("a search by an index finds the same records as a search of all records", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  await call("CreateTable", { table: "indexed", indexes: ["value"] });
  for (const [index, value] of VALUES.entries()) {
    for (const table of ["indexed", "plain"]) await call("Create", { table, id: `r${10 + index}`, fields: { value } });
  }
  for (const value of VALUES) {
    for (const operator of ["EQUAL", "LESS", "LESS_OR_EQUAL", "GREATER", "GREATER_OR_EQUAL", "STARTS_WITH"]) {
      if (typeof value !== "string" && operator === "STARTS_WITH") continue;
      if (typeof value !== "string" && typeof value !== "number" && operator !== "EQUAL") continue;
      const filter = { field: "value", operator, value };
      const read = async (table: string) => idsOf(await call("Read", { table, filter, limit: 1000 }));
      t.same(await read("indexed"), await read("plain"), JSON.stringify(filter).slice(0, 80));
    }
  }
});

t.test("a search by an index reads only records that may match", async (t) => {
  let ranges = 0;
  const { call } = serveCatalogue(t, "db", parts, {
    through: (store) =>
      overriding(store, {
        range: (range) => {
          if (range.from.includes("/records/")) ranges++;
          return store.range(range);
        },
      }),
  });
  await fill(call, ["name"]);
  await call("Read", { table, filter: { field: "name", value: "Ada" } });
  t.equal(ranges, 0, "records are read one by one");
  await call("Read", { table, filter: { field: "age", value: 36 } });
  t.equal(ranges, 1);
});

t.test("an index follows updates and deletions", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  await fill(call, ["name"]);
  const named = async (value: string) => idsOf(await call("Read", { table, filter: { field: "name", value } }));
  await call("Update", { table, id: "ada", fields: { name: "Eve" } });
  t.same(await named("Ada"), []);
  t.same(await named("Eve"), ["ada"]);
  await call("Update", { table, id: "ada", fields: { name: null } });
  t.same(await named("Eve"), []);
  await call("Delete", { table, id: "bob" });
  t.same(await named("Bob"), []);
});

t.test("records are read page by page, by their IDs", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  await fill(call, ["active"]);
  for (const filter of [undefined, { field: "active", operator: "IN", value: [true, false] }]) {
    const first = await call("Read", { table, filter, limit: 2 });
    t.same(idsOf(first), ["ada", "bob"]);
    const second = await call("Read", { table, filter, limit: 2, after: first.next });
    t.same(idsOf(second), filter === undefined ? ["cleo", "dora"] : ["dora"]);
    t.equal(second.next, "");
  }
});

t.test("a page has as many records as fit into 2 MiB", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  for (let index = 0; index < 35; index++) {
    await call("Create", { table, id: `r${100 + index}`, fields: { text: "x".repeat(65_000) } });
  }
  const first = await call("Read", { table });
  t.equal(first.records.length, 32);
  t.equal((await call("Read", { table, after: first.next })).records.length, 3);
});

t.test("tables are listed, renamed, emptied and dropped", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  await fill(call, ["name"]);
  await call("Create", { table: "things", id: "tea", fields: {} });
  t.same(await call("ListTables"), {
    tables: [
      { name: "people", indexes: ["name"] },
      { name: "things", indexes: [] },
    ],
    next: "",
  });
  await t.rejects(call("RenameTable", { table, newName: "things" }), { code: Code.ALREADY_EXISTS });
  await call("RenameTable", { table, newName: "persons" });
  t.same(await call("Count", { table: "persons" }), { count: 4, next: "" });
  await t.rejects(call("Count", { table }), { code: Code.NOT_FOUND });

  await call("Truncate", { table: "persons" });
  t.same(await call("Count", { table: "persons" }), { count: 0, next: "" });
  t.same(await call("Read", { table: "persons", filter: { field: "name", value: "Ada" } }), { records: [], next: "" });
  await call("Create", { table: "persons", id: "ada", fields: PEOPLE.ada });
  t.same(idsOf(await call("Read", { table: "persons", filter: { field: "name", value: "Ada" } })), ["ada"]);

  await call("DropTable", { table: "persons" });
  await call("Create", { table: "persons", id: "eve", fields: {} });
  t.same(idsOf(await call("Read", { table: "persons" })), ["eve"], "a new table of the name has nothing of the old");
});

for (const endpoint of ["Read", "Update", "Delete", "Truncate", "Count", "RenameTable", "DropTable"]) {
  t.test(`${endpoint} of a table that does not exist is NOT_FOUND`, async (t) => {
    const { call } = serveCatalogue(t, "db", parts);
    const more = { Update: { id: "a", fields: {} }, Delete: { id: "a" }, RenameTable: { newName: "b" } }[endpoint];
    await t.rejects(call(endpoint, { table, ...more }), { code: Code.NOT_FOUND });
  });
}

t.test("64 concurrent updates of a record", async (t) => {
  const race = async (call: Calls["call"]) => {
    await call("CreateTable", { table, indexes: ["last"] });
    await call("Create", { table, id: "ada", fields: {} });
    await Promise.all(
      Array.from({ length: 64 }, (_, racer) =>
        call("Update", { table, id: "ada", fields: { [`field${racer}`]: true, last: racer } }),
      ),
    );
    const [record] = (await call("Read", { table, id: "ada" })).records;
    return record;
  };
  t.test("lose no field, and leave one index entry", async (t) => {
    const { call } = serveCatalogue(t, "db", parts);
    const { fields, revision } = await race(call);
    t.equal(revision, "65");
    t.equal(Object.keys(fields).length, 65);
    const found = await call("Read", { table, filter: { field: "last", operator: "GREATER_OR_EQUAL", value: 0 } });
    t.same(idsOf(found), ["ada"]);
  });
  t.test("lose fields without the safeguard", async (t) => {
    const { call } = serveCatalogue(t, "db", parts, { through: withoutConditions });
    const { fields } = await race(call);
    t.ok(Object.keys(fields).length < 65, `${Object.keys(fields).length} of 65`);
  });
});

t.test("accounts of a namespace share the tables; namespaces do not", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  await fill(call);
  t.same(await call("Count", { table }, { account: "bob" }), { count: 4, next: "" });
  await t.rejects(call("Count", { table }, { namespace: "other" }), { code: Code.NOT_FOUND });
  t.same((await call("ListTables", {}, { namespace: "other" })).tables, []);
});

const { call } = serveCatalogue(t, "db", parts);
await call("Create", { table, id: "ada", fields: {} });

const age = { field: "age", value: 1 };
const WRONG = [
  { endpoint: "CreateTable", request: {}, field: "table" },
  { endpoint: "CreateTable", request: { table: "a", indexes: Array(9).fill("x") }, field: "indexes" },
  { endpoint: "CreateTable", request: { table: "a", indexes: ["x", "x"] }, field: "indexes\\[1\\]" },
  { endpoint: "CreateTable", request: { table: "a", indexes: ["a..b"] }, field: "indexes\\[0\\]" },
  { endpoint: "Create", request: { table: "a/b", fields: {} }, field: "table" },
  { endpoint: "Create", request: { table, id: "a b", fields: {} }, field: "id" },
  { endpoint: "Create", request: { table, id: "a" }, field: "fields" },
  { endpoint: "Create", request: { table, id: "a", fields: { a: "x".repeat(65_536) } }, field: "fields" },
  { endpoint: "Update", request: { table, id: "ada" }, field: "fields" },
  { endpoint: "Update", request: { table, fields: {} }, field: "id" },
  { endpoint: "Delete", request: { table }, field: "id" },
  { endpoint: "Read", request: { table, limit: 1001 }, field: "limit" },
  { endpoint: "Read", request: { table, after: "a/b" }, field: "after" },
  { endpoint: "Read", request: { table, filter: {} }, field: "filter" },
  { endpoint: "Read", request: { table, filter: { ...age, not: age } }, field: "filter" },
  { endpoint: "Read", request: { table, filter: { and: [age, { or: [{}] }] } }, field: "filter.and\\[1\\].or\\[0\\]" },
  { endpoint: "Read", request: { table, filter: { not: { field: "a..b" } } }, field: "filter.not.field" },
  { endpoint: "Read", request: { table, filter: { or: Array(100).fill(age) } }, field: "filter" },
  { endpoint: "Read", request: { table, filter: { field: "age", operator: 99 } }, field: "filter.operator" },
  {
    endpoint: "Read",
    request: { table, filter: { field: "age", operator: "LESS", value: true } },
    field: "filter.value",
  },
  { endpoint: "Read", request: { table, filter: { field: "age", operator: "IN", value: 1 } }, field: "filter.value" },
  { endpoint: "Count", request: { table, filter: { field: "age", operator: "STARTS_WITH" } }, field: "filter.value" },
  { endpoint: "RenameTable", request: { table }, field: "newName" },
  { endpoint: "ListTables", request: { limit: -1 }, field: "limit" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 80)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
