/**
 * Lines of the audit log are on disk before the store's cursor passes them: otherwise a power
 * failure would lose them.
 */
import { join } from "node:path";
import t from "tap";
import { bundleInto } from "../../support/bundle.js";
import { noStrace, traceCalls } from "../../support/system-calls.js";

const LINES = ["one", "two", "three"];

t.test("each write of lines is synced before it resolves", { skip: noStrace }, async (t) => {
  const folder = t.testdir();
  const program = await bundleInto(folder, "test/services/auth/audit-writer.ts");
  const file = join(folder, "audit.jsonl");
  const { printed, calls } = traceCalls(folder, ["write", "pwrite64", "fsync", "fdatasync"], [program, file, ...LINES]);
  t.same(printed, LINES);
  const steps = calls.flatMap((call) => {
    const line = /^write\(1<[^>]*>, "(.*)\\n"/.exec(call)?.[1];
    if (line !== undefined) return [line];
    if (!call.includes(`<${file}>`)) return [];
    return [call.startsWith("f") && call.endsWith(" = 0") ? "synced" : "written"];
  });
  t.same(
    steps,
    LINES.flatMap((line) => ["written", "synced", line]),
  );
});
