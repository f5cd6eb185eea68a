// The callers that a guard caches never exceed the limits, and used callers stay.
import t from "tap";
import { CallerTable } from "../../src/access/callers/caller-table.js";
import { KnownCaller } from "../../src/access/callers/known-caller.js";

interface Given {
  readonly account?: string;
  readonly scopes?: string[];
  readonly resources?: string[];
}

function callerOf({ account = "bob", scopes = ["staff"], resources = [] }: Given = {}): KnownCaller {
  const expires = { seconds: 4_000_000_000n, nanos: 0 };
  const caller = {
    namespace: "default",
    namespaceId: "",
    account,
    scopes,
    expires,
    resources,
    from: [],
    reportUse: false,
    enrolment: "",
  };
  return new KnownCaller(Buffer.alloc(32), caller, 0);
}

const ROOMY = { callers: 1_000, bytes: 2 ** 30 };

t.test("a table never has more callers than its maximum", async (t) => {
  const table = new CallerTable({ ...ROOMY, callers: 100 });
  for (let index = 0; index < 1_000; index++) table.set(`token ${index}`, callerOf());
  t.equal(table.size, 100);
  t.ok(table.get("token 999"), "the newest is there");
});

t.test("used callers stay while others are added and evicted", async (t) => {
  const table = new CallerTable({ ...ROOMY, callers: 100 });
  const used = callerOf();
  table.set("used", used);
  for (let index = 0; index < 10_000; index++) {
    table.set(`token ${index}`, callerOf());
    if (index % 40 === 0) t.equal(table.get("used"), used, `after ${index}`);
  }
});

t.test("a table keeps its maximum number of callers, in whatever order they are used", async (t) => {
  const table = new CallerTable({ ...ROOMY, callers: 500 });
  for (let index = 0; index < 500; index++) table.set(`token ${index}`, callerOf());
  for (let round = 0; round < 3; round++) {
    for (let index = 0; index < 500; index++) if (!table.get(`token ${index}`)) t.fail(`token ${index} is gone`);
  }
});

t.test("callers with long scopes take no more bytes than the maximum", async (t) => {
  const bytes = 1_000_000;
  const table = new CallerTable({ ...ROOMY, bytes });
  for (let index = 0; index < 500; index++) {
    const scopes = Array.from({ length: 100 }, (_, scope) => `${index} ${scope}`.padEnd(128, "x"));
    table.set(`token ${index}`, callerOf({ scopes }));
    if (table.bytes > bytes) t.fail(`${table.bytes} bytes after ${index}`);
  }
  t.ok(table.size > 10 && table.size < 50, `${table.size} callers are kept`);
});

t.test("callers with the same scopes and limits share them, and they count once", async (t) => {
  const table = new CallerTable(ROOMY);
  const powers = (): Given => ({ scopes: ["x".repeat(10_000)], resources: ["service:a:*"] });
  table.set("one", callerOf(powers()));
  const { bytes } = table;
  table.set("two", callerOf(powers()));
  t.equal(table.get("one")?.scopes, table.get("two")?.scopes);
  t.equal(table.get("one")?.limits, table.get("two")?.limits);
  t.ok(table.bytes < bytes + 1_000, "the second took little");
  table.set("other", callerOf({ scopes: ["x".repeat(10_000)], resources: ["service:b:*"] }));
  t.same(table.get("other")?.resources, ["service:b:*"], "another's limits are its own");
});

t.test("deleted callers take no bytes", async (t) => {
  const table = new CallerTable(ROOMY);
  for (let index = 0; index < 200; index++) {
    table.set(`token ${index}`, callerOf({ account: `account ${index}`, scopes: [`team ${index % 7}`] }));
    table.set(`token ${index}`, callerOf({ account: "again", scopes: [`team ${index % 5}`] }));
  }
  for (let index = 0; index < 200; index++) table.delete(`token ${index}`);
  table.delete("never there");
  t.same([table.size, table.bytes], [0, 0]);
  table.set("token", callerOf());
  table.clear();
  t.same([table.size, table.bytes], [0, 0]);
});

t.test("a table that was cleared evicts as before", async (t) => {
  const table = new CallerTable({ ...ROOMY, callers: 3 });
  for (const name of ["a", "b", "c", "d"]) table.set(name, callerOf());
  table.clear();
  for (const name of ["e", "f", "g", "h", "i"]) table.set(name, callerOf());
  t.equal(table.size, 3);
});
