// The table of docs/audit.md has the fields of the lines, in their order.
import { readFileSync } from "node:fs";
import t from "tap";
import { AUDIT_FIELDS } from "../../src/api/audit-line.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { tablesOf } from "./markdown.js";

const [lines] = tablesOf(readFileSync("docs/audit.md", "utf8"));

t.test("the table of a line has its fields in their order", async (t) => {
  t.same(
    lines?.rows.map(([field]) => field),
    AUDIT_FIELDS.map((field) => `\`${field}\``),
  );
});

t.test("a line has every field of a record", async (t) => {
  const record = readDescriptors(descriptorsOf()).getMessage("portico.auth.v1.AuditRecord");
  t.same([...AUDIT_FIELDS].sort(), record?.fields.map(({ jsonName }) => jsonName).sort());
});
