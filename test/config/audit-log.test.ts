// The path of the audit log is relative to where it is set; `-` is standard output everywhere.
import { join, resolve } from "node:path";
import t from "tap";
import { loadConfig } from "../../src/config/config.js";

t.test("in the configuration file and in a variable", async (t) => {
  const inFile = (auditLog: string) => t.testdir({ "portico.json": JSON.stringify({ auditLog }) });
  for (const [given, expected] of [
    ["audit.jsonl", (data: string) => join(data, "audit.jsonl")],
    ["/var/log/audit.jsonl", () => "/var/log/audit.jsonl"],
    ["-", () => "-"],
  ] as const) {
    const data = inFile(given);
    t.equal(loadConfig({}, { PORTICO_DATA: data }).auditLog, expected(data), given);
  }
  const data = t.testdir({});
  const { auditLog } = loadConfig({}, { PORTICO_DATA: data, PORTICO_AUDIT_LOG: "audit.jsonl" });
  t.equal(auditLog, resolve("audit.jsonl"));
  t.equal(loadConfig({ auditLog: "-" }, { PORTICO_DATA: data }).auditLog, "-");
  t.equal(loadConfig({}, { PORTICO_DATA: data }).auditLog, undefined);
});
