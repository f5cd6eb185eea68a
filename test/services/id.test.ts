import t from "tap";
import { validate, version } from "uuid";
import { parts } from "../../services/id/id.js";
import { Code } from "../../src/errors.js";
import { serveCatalogue } from "../support/catalogue.js";

const { call } = serveCatalogue(t, "id", parts);

t.test("generates a UUID of version 7 unless asked for another type", async (t) => {
  const { ids } = await call("Generate");
  t.equal(ids.length, 1);
  t.ok(validate(ids[0]));
  t.equal(version(ids[0]), 7);
});

const FORMS = {
  UUID7: /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  UUID4: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  ULID: /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/,
  NANOID: /^[A-Za-z0-9_-]{21}$/,
};

for (const [type, form] of Object.entries(FORMS)) {
  t.test(`generates the requested number of ${type} identifiers, all different`, async (t) => {
    const { ids } = await call("Generate", { type, count: 1000 });
    t.equal(new Set(ids).size, 1000);
    for (const id of ids) if (!form.test(id)) t.match(id, form);
  });
}

for (const type of ["UUID7", "ULID"]) {
  t.test(`${type} identifiers ascend, even within a millisecond`, async (t) => {
    const { ids: first } = await call("Generate", { type, count: 1000 });
    const { ids: second } = await call("Generate", { type, count: 1000 });
    const ids = [...first, ...second];
    t.same(ids, [...ids].sort());
  });
}

t.test("a Nano ID has the requested length", async (t) => {
  const { ids } = await call("Generate", { type: "NANOID", length: 8 });
  t.match(ids[0], /^[A-Za-z0-9_-]{8}$/);
});

t.test("lists the types with an example of each", async (t) => {
  const { types } = await call("Types");
  t.same(
    types.map(({ type }: { type: string }) => type),
    Object.keys(FORMS),
  );
  for (const { type, example } of types) t.match(example, FORMS[type as keyof typeof FORMS]);
});

const WRONG = [
  { request: { count: 1001 }, field: "count" },
  { request: { count: -1 }, field: "count" },
  { request: { type: "NANOID", length: 7 }, field: "length" },
  { request: { type: "NANOID", length: 65 }, field: "length" },
  // Canonical JSON accepts an enum's number even if the number has no name.
  { request: { type: 99 }, field: "type" },
];

for (const { request, field } of WRONG) {
  t.test(`refuses ${JSON.stringify(request)} and names the field`, async (t) => {
    await t.rejects(call("Generate", request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
