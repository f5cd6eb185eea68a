import t from "tap";
import { parts } from "../../services/cache/cache.js";
import { Code } from "../../src/errors.js";
import { openServiceStore } from "../../src/store/open.js";
import { overriding, serveCatalogue, withoutConditions } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

const RACERS = 64;

t.test("stores a value until it is deleted", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  await call("Set", { key: "greeting", value: "Hello Ada" });
  t.match(await call("Get", { key: "greeting" }), { value: "Hello Ada" });
  t.same(await call("Delete", { key: "greeting" }), { deleted: true });
  t.same(await call("Delete", { key: "greeting" }), { deleted: false });
});

t.test("an absent key has no value", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  t.same(await call("Get", { key: "greeting" }), {});
});

t.test("an empty value is a value", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  await call("Set", { key: "greeting" });
  t.match(await call("Get", { key: "greeting" }), { value: "" });
});

t.test("a value expires", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  const { expires } = await call("Set", { key: "greeting", value: "Hello Ada", lifetime: "1s" });
  await until(async () => (await call("Get", { key: "greeting" })).value === undefined);
  t.ok(Date.now() >= Date.parse(expires));
});

t.test("a value expires after 30 days by default", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  const before = Date.now();
  const { expires } = await call("Set", { key: "greeting", value: "Hello Ada" });
  const days = (Date.parse(expires) - before) / 86_400_000;
  t.ok(days >= 30 && days < 30.01, `${days} days`);
});

t.test("a value survives a restart", async (t) => {
  const folder = temporaryFolder(t);
  await t.test("written", async (t) => {
    await serveCatalogue(t, "cache", parts, { folder }).call("Set", { key: "greeting", value: "Hello Ada" });
  });
  const { call } = serveCatalogue(t, "cache", parts, { folder });
  t.match(await call("Get", { key: "greeting" }), { value: "Hello Ada" });
});

t.test("counts up and down, and an absent key counts as 0", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  t.same(await call("Increment", { key: "visits" }), { value: "1" });
  t.same(await call("Increment", { key: "visits", by: 41 }), { value: "42" });
  t.same(await call("Decrement", { key: "visits" }), { value: "41" });
  t.same(await call("Decrement", { key: "visits", by: 50 }), { value: "-9" });
  t.match(await call("Get", { key: "visits" }), { value: "-9" });
});

t.test("counts a number that Set has written, up to the largest number that is exact in JSON", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  await call("Set", { key: "visits", value: "9007199254740990" });
  t.same(await call("Increment", { key: "visits" }), { value: "9007199254740991" });
  await t.rejects(call("Increment", { key: "visits" }), { code: Code.FAILED_PRECONDITION });
  t.match(await call("Get", { key: "visits" }), { value: "9007199254740991" }, "and nothing was written");
});

t.test("refuses to count a text", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  for (const value of ["ten", "", "1.5", "0x1f", "007", "-0", "9007199254740992"]) {
    await call("Set", { key: "visits", value });
    await t.rejects(call("Increment", { key: "visits" }), { code: Code.FAILED_PRECONDITION }, JSON.stringify(value));
  }
});

t.test("counting does not change when an entry expires", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  await call("Increment", { key: "visits", lifetime: "60s" });
  await call("Increment", { key: "visits", lifetime: "3600s" });
  const { expires } = await call("Get", { key: "visits" });
  const left = Date.parse(expires) - Date.now();
  t.ok(left > 0 && left <= 60_000, `${left} ms are left`);
});

t.test(`${RACERS} concurrent counts`, async (t) => {
  const race = async (call: ReturnType<typeof serveCatalogue>["call"]) => {
    const responses = await Promise.all(Array.from({ length: RACERS }, () => call("Increment", { key: "visits" })));
    return { responses: new Set(responses.map(({ value }) => value)).size, ...(await call("Get", { key: "visits" })) };
  };
  t.test("lose no change", async (t) => {
    const { call } = serveCatalogue(t, "cache", parts);
    await call("Set", { key: "visits", value: "0" });
    t.match(await race(call), { responses: RACERS, value: `${RACERS}` });
  });
  t.test("lose no change if the key is absent at first", async (t) => {
    const { call } = serveCatalogue(t, "cache", parts);
    t.match(await race(call), { responses: RACERS, value: `${RACERS}` });
  });
  t.test("lose no change if two processes use the store", async (t) => {
    const folder = temporaryFolder(t);
    (await openServiceStore("sqlite:", folder)).close();
    const [one, other] = [serveCatalogue(t, "cache", parts, { folder }), serveCatalogue(t, "cache", parts, { folder })];
    await Promise.all([one, other].map(({ call }) => race(call)));
    t.match(await one.call("Get", { key: "visits" }), { value: `${2 * RACERS}` });
  });
  t.test("lose most changes without the safeguard", async (t) => {
    const { call } = serveCatalogue(t, "cache", parts, { through: withoutConditions });
    await call("Set", { key: "visits", value: "0" });
    const { value } = await race(call);
    t.ok(Number(value) < RACERS, `${value} of ${RACERS} counted`);
  });
});

t.test("lists keys by prefix, page by page, in the order of their bytes", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  for (const key of ["visit:é", "visit:a", "visit:Z", "other", "visit:b"]) await call("Set", { key, value: "1" });
  const first = await call("ListKeys", { prefix: "visit:", limit: 3 });
  t.same(first.keys, ["visit:Z", "visit:a", "visit:b"]);
  t.same(await call("ListKeys", { prefix: "visit:", limit: 3, after: first.next }), { keys: ["visit:é"], next: "" });
  t.equal((await call("ListKeys")).keys.length, 5);
});

t.test("accounts of a namespace share the entries; namespaces do not", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  await call("Set", { key: "greeting", value: "Hello Ada" });
  t.match(await call("Get", { key: "greeting" }, { account: "bob" }), { value: "Hello Ada" });
  t.match(await call("Get", { key: "greeting" }, { account: undefined }), { value: "Hello Ada" });
  t.same(await call("Get", { key: "greeting" }, { namespace: "other" }), {});
  t.same(await call("ListKeys", {}, { namespace: "other" }), { keys: [], next: "" });
});

t.test("returns a value as it was written, even if it looks like a number", async (t) => {
  const { call } = serveCatalogue(t, "cache", parts);
  for (const value of ["42", "-1", "0", "-0", "007", "1e3", "9007199254740993", "true", "null", '"']) {
    await call("Set", { key: "value", value });
    t.match(await call("Get", { key: "value" }), { value });
  }
});

const { call } = serveCatalogue(t, "cache", parts);

const WRONG = [
  { endpoint: "Increment", request: { key: "a", by: "9007199254740992" }, field: "by" },
  { endpoint: "Get", request: {}, field: "key" },
  { endpoint: "Get", request: { key: "a\u0000b" }, field: "key" },
  { endpoint: "Set", request: { key: "é".repeat(129), value: "" }, field: "key" },
  { endpoint: "Set", request: { key: "a", value: "x".repeat(65_537) }, field: "value" },
  { endpoint: "Set", request: { key: "a", value: "x", lifetime: "0.9s" }, field: "lifetime" },
  { endpoint: "Set", request: { key: "a", value: "x", lifetime: "2592001s" }, field: "lifetime" },
  { endpoint: "Set", request: { key: "a", value: "x", lifetime: "-1s" }, field: "lifetime" },
  { endpoint: "Delete", request: {}, field: "key" },
  { endpoint: "Increment", request: {}, field: "key" },
  { endpoint: "Decrement", request: { key: "a", lifetime: "0s" }, field: "lifetime" },
  { endpoint: "ListKeys", request: { limit: 1001 }, field: "limit" },
  { endpoint: "ListKeys", request: { prefix: "\n" }, field: "prefix" },
  { endpoint: "ListKeys", request: { prefix: "visit:", after: "other" }, field: "after" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 60)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}

t.test("a full cache refuses new keys without a count for each, and accepts existing keys", async (t) => {
  let counts = 0;
  const { call } = serveCatalogue(t, "cache", parts, {
    through: (store) =>
      overriding(store, {
        count: async () => {
          counts++;
          // So long that no second count is due during this test.
          await new Promise((resolve) => setTimeout(resolve, 500));
          return 100_000;
        },
      }),
  });
  const namespace = "full";
  const refused = { code: Code.RESOURCE_EXHAUSTED, message: /^There are 100000 entries in the cache of the namespace/ };
  const writes = [
    ...Array.from({ length: 50 }, (_, key) => ["Set", { key: `${key}`, value: "x" }] as const),
    ["Increment", { key: "new" }] as const,
    ["Decrement", { key: "new" }] as const,
  ];
  await Promise.all(writes.map(([endpoint, request]) => t.rejects(call(endpoint, request, { namespace }), refused)));
  await t.rejects(call("Set", { key: "another", value: "x" }, { namespace }), refused);
  t.equal(counts, 1);
  t.same((await call("ListKeys", {}, { namespace })).keys, []);
});

t.test(
  "in a full cache, existing entries can be set, counted and deleted, and a deletion frees capacity",
  async (t) => {
    let isFull = false;
    const { call } = serveCatalogue(t, "cache", parts, {
      through: (store) => overriding(store, { count: async () => (isFull ? 100_000 : 99_995) }),
    });
    const as = { namespace: "filled" };
    await call("Set", { key: "a", value: "1" }, as);
    await call("Set", { key: "b", value: "2" }, as);
    await call("Set", { key: "c", value: "3" }, as);
    isFull = true;
    await until(() =>
      call("Set", { key: "d", value: "4" }, as).then(
        () => false,
        () => true,
      ),
    );
    t.ok((await call("Set", { key: "a", value: "5" }, as)).expires);
    t.same(await call("Increment", { key: "b" }, as), { value: "3" });
    await t.rejects(call("Increment", { key: "a", by: "9007199254740991" }, as), { code: Code.FAILED_PRECONDITION });
    t.same(await call("Delete", { key: "c" }, as), { deleted: true });
    await call("Set", { key: "e", value: "6" }, as);
    await t.rejects(call("Set", { key: "f", value: "7" }, as), { code: Code.RESOURCE_EXHAUSTED });
  },
);
