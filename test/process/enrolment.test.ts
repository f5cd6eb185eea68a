/**
 * A start without a usable enrolment token fails; the error says where to put one and how to make
 * it.
 */
import { join } from "node:path";
import t from "tap";
import { readEnrolment } from "../../src/process/join.js";

const folder = t.testdir({
  enrolment: { gateway: "pte_0123456789\n", empty: "\n", torn: "pte_01\u00002345", folder: {} },
});
const file = (name: string): string => join(folder, "enrolment", name);
const remedy = (name: string) => `. Create one where the authority runs: portico auth create enrolment ${name}`;

t.test("the setting is read first, then the file of the name", async (t) => {
  t.equal(readEnrolment("gateway", { data: folder, enrolment: "pte_given" }), "pte_given");
  t.equal(readEnrolment("gateway", { data: folder, enrolment: undefined }), "pte_0123456789");
});

const CASES: [what: string, name: string, enrolment: string | undefined, why: string][] = [
  ["is empty", "empty", undefined, `PORTICO_ENROLMENT is not set, and ${file("empty")} holds none`],
  ["is incomplete", "torn", undefined, `PORTICO_ENROLMENT is not set, and ${file("torn")} holds none`],
  ["is set with a line end", "gateway", "pte_given\n", "PORTICO_ENROLMENT is none"],
];

for (const [what, name, enrolment, why] of CASES) {
  t.test(`a token that ${what} is refused`, async (t) => {
    t.throws(() => readEnrolment(name, { data: folder, enrolment }), {
      name: "ConfigError",
      message: `no enrolment token: ${why}${remedy(name)}`,
    });
  });
}

t.test("the error names a file that cannot be read", async (t) => {
  for (const [name, code] of Object.entries({ absent: "ENOENT", folder: "EISDIR" })) {
    t.throws(() => readEnrolment(name, { data: folder, enrolment: undefined }), {
      message: new RegExp(`${file(name)} cannot be read \\(${code}.*portico auth create enrolment ${name}$`),
    });
  }
});
