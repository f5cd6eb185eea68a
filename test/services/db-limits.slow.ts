// How much of large records db reads in one call.
import t from "tap";
import { parts } from "../../services/db/db.js";
import { Code } from "../../src/errors.js";
import { serveCatalogue } from "../support/catalogue.js";

const RECORDS = 1100;

t.test("a call reads at most 64 MiB of a table", async (t) => {
  const { call } = serveCatalogue(t, "db", parts);
  const table = "wide";
  const fields = { kind: "a", text: "x".repeat(65_000) };
  for (let number = 0; number < RECORDS; number++) await call("Create", { table, fields });
  const filter = { field: "kind", value: "a" };
  await t.rejects(call("Count", { table, filter }), { code: Code.RESOURCE_EXHAUSTED });
  let [count, calls] = [0, 0];
  for (let after = ""; calls === 0 || after !== ""; calls++) {
    const chunk = await call("Count", { table, filter, after });
    count += chunk.count;
    after = chunk.next;
  }
  t.equal(count, RECORDS);
  t.equal(calls, 2);
  const page = await call("Read", { table, filter: { field: "kind", value: "b" } });
  t.same(page.records, []);
  t.not(page.next, "", "the rest is read on from there");
});
