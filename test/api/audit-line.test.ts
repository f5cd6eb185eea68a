// A line of the audit trail has its time in milliseconds, from whichever export it comes.
import t from "tap";
import { auditLine } from "../../src/api/audit-line.js";
import type { AuditRecord } from "../../src/api/types.js";

const record: AuditRecord = {
  ...{ cursor: "1.0", revision: "1", time: "", namespace: "default", actor: "admin", action: "logged in" },
  ...{ subject: "admin", administrator: true, address: "", key: "", requestId: "" },
};

const cases: readonly [what: string, given: string, written: string][] = [
  ["nanoseconds", "2026-11-24T09:30:00.250279785Z", "2026-11-24T09:30:00.250Z"],
  ["microseconds", "2026-11-24T09:30:00.250279Z", "2026-11-24T09:30:00.250Z"],
  ["milliseconds", "2026-11-24T09:30:00.250Z", "2026-11-24T09:30:00.250Z"],
  ["less than a millisecond", "2026-11-24T09:30:00.000014404Z", "2026-11-24T09:30:00Z"],
  ["zeros", "2026-11-24T09:30:00.000Z", "2026-11-24T09:30:00Z"],
  ["no fraction", "2026-11-24T09:30:00Z", "2026-11-24T09:30:00Z"],
];

for (const [what, time, written] of cases) {
  t.test(what, async (t) => {
    t.equal(JSON.parse(auditLine({ ...record, time })).time, written);
  });
}
