import t from "tap";
import { parts } from "../../services/otp/otp.js";
import { Code } from "../../src/errors.js";
import { overriding, serveCatalogue } from "../support/catalogue.js";
import { until } from "../support/until.js";

const RACERS = 64;
const subject = "ada@example.com";

/** A code that is not this one. */
const wrong = (code: string) => `${(Number(code[0]) + 1) % 10}${code.slice(1)}`;

t.test("a code is valid once", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject });
  t.match(code, /^\d{6}$/);
  t.same(await call("Validate", { subject, code }), { valid: true });
  t.same(await call("Validate", { subject, code }), { valid: false });
});

t.test("a code has the requested number of digits", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject, digits: 8 });
  t.match(code, /^\d{8}$/);
  t.same(await call("Validate", { subject, code: code.slice(0, 6) }), { valid: false });
  t.same(await call("Validate", { subject, code }), { valid: true });
});

t.test("a wrong code and a code of another subject are not valid", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject });
  t.same(await call("Validate", { subject, code: wrong(code) }), { valid: false });
  t.same(await call("Validate", { subject: "bob@example.com", code }), { valid: false });
});

t.test("a new code replaces the earlier one", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code: first } = await call("Generate", { subject });
  const { code: second } = await call("Generate", { subject, digits: 7 });
  t.same(await call("Validate", { subject, code: first }), { valid: false });
  t.same(await call("Validate", { subject, code: second }), { valid: true });
});

t.test("five wrong codes void the current one", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject });
  for (let attempt = 0; attempt < 5; attempt++) await call("Validate", { subject, code: wrong(code) });
  t.same(await call("Validate", { subject, code }), { valid: false });
});

t.test("four wrong codes do not void the current one", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject });
  for (let attempt = 0; attempt < 4; attempt++) await call("Validate", { subject, code: wrong(code) });
  t.same(await call("Validate", { subject, code }), { valid: true });
});

t.test("the response says when a code expires", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const before = Date.now();
  const { expires } = await call("Generate", { subject, lifetime: "60s" });
  const lifetime = Date.parse(expires) - before;
  t.ok(lifetime >= 60_000 && lifetime < 70_000, `expires in ${lifetime} ms`);
});

t.test(`one of ${RACERS} concurrent calls with the right code gets true`, async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject });
  const responses = await Promise.all(Array.from({ length: RACERS }, () => call("Validate", { subject, code })));
  t.equal(responses.filter(({ valid }) => valid).length, 1);
});

t.test(`${RACERS} concurrent calls with one key count as one`, async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const race = (endpoint: string, request: object) =>
    Promise.all(
      Array.from({ length: RACERS }, () => call(endpoint, { ...request, idempotencyKey: `key-${endpoint}` })),
    );
  const made = await race("Generate", { subject });
  t.equal(new Set(made.map(({ code }) => code)).size, 1, "the same code");
  const responses = await race("Validate", { subject, code: made[0].code });
  t.ok(
    responses.every(({ valid }) => valid),
    "the same answer",
  );
  t.same(await call("Validate", { subject, code: made[0].code }), { valid: false }, "and the code is used up");
});

t.test("a key that was used with another request is refused", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  await call("Generate", { subject, idempotencyKey: "a" });
  const refused = { code: Code.INVALID_ARGUMENT, message: /^idempotencyKey: / };
  await t.rejects(call("Generate", { subject: "bob", idempotencyKey: "a" }), refused);
  await t.rejects(call("Validate", { subject, code: "123456", idempotencyKey: "a" }), refused);
});

t.test("a code belongs to the account that generated it", async (t) => {
  const { call } = serveCatalogue(t, "otp", parts);
  const { code } = await call("Generate", { subject });
  t.same(await call("Validate", { subject, code }, { account: "bob" }), { valid: false });
  t.same(await call("Validate", { subject, code }, { namespace: "other" }), { valid: false });
  t.same(await call("Validate", { subject, code }), { valid: true });
});

const { call } = serveCatalogue(t, "otp", parts);

for (const [endpoint, request] of Object.entries({ Generate: { subject }, Validate: { subject, code: "123456" } })) {
  t.test(`${endpoint} needs an account`, async (t) => {
    await t.rejects(call(endpoint, request, { account: undefined }), { code: Code.UNAUTHENTICATED });
  });
}

const WRONG = [
  { endpoint: "Generate", request: {}, field: "subject" },
  { endpoint: "Generate", request: { subject: "x".repeat(257) }, field: "subject" },
  { endpoint: "Generate", request: { subject, lifetime: "29s" }, field: "lifetime" },
  { endpoint: "Generate", request: { subject, lifetime: "86401s" }, field: "lifetime" },
  { endpoint: "Generate", request: { subject, digits: 5 }, field: "digits" },
  { endpoint: "Generate", request: { subject, digits: 9 }, field: "digits" },
  { endpoint: "Generate", request: { subject, idempotencyKey: "x".repeat(65) }, field: "idempotencyKey" },
  { endpoint: "Generate", request: { subject, idempotencyKey: "a\u0000" }, field: "idempotencyKey" },
  { endpoint: "Validate", request: { code: "123456" }, field: "subject" },
  { endpoint: "Validate", request: { subject, code: "12345" }, field: "code" },
  { endpoint: "Validate", request: { subject, code: "12345a" }, field: "code" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 60)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}

t.test(
  "an account with the maximum number of codes can replace codes, and a code for a new subject is refused",
  async (t) => {
    let isFull = false;
    let counts = 0;
    const { call } = serveCatalogue(t, "otp", parts, {
      through: (store) =>
        overriding(store, {
          count: async () => {
            counts++;
            if (!isFull) return 99_997;
            // So long that no second count is due during this test.
            await new Promise((resolve) => setTimeout(resolve, 500));
            return 100_000;
          },
        }),
    });
    const as = { account: "full" };
    const keyed = { subject: "ada", idempotencyKey: "once" };
    const first = await call("Generate", keyed, as);
    await call("Generate", { subject: "bob" }, as);
    isFull = true;
    const refused = { code: Code.RESOURCE_EXHAUSTED, message: /^There are 100000 subjects with a code: / };
    // The next count is due shortly after the first.
    await until(async () => {
      await t.rejects(call("Generate", { subject: "cleo" }, as), refused);
      return counts === 2;
    });
    const before = counts;
    await Promise.all(Array.from({ length: 50 }, () => t.rejects(call("Generate", { subject: "cleo" }, as), refused)));
    t.equal(counts, before, "counted for none of them");
    t.same(await call("Generate", keyed, as), first, "a repeated call gets its answer");
    const { code } = await call("Generate", { subject: "ada" }, as);
    t.same(await call("Validate", { subject: "ada", code }, as), { valid: true });
    await call("Generate", { subject: "cleo" }, as);
    await t.rejects(call("Generate", { subject: "dora" }, as), refused);
  },
);
