// If a process of tests hangs and is killed, the run reports the tests that were running.
import { copyFileSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import t from "tap";

const FILE = relative("", "test/scripts/hang.test.ts");

type Report = (events: readonly never[]) => AsyncIterable<string>;

t.test("a process records the tests that are running, and removes those that have ended", async (t) => {
  const noted = () => readFileSync(`${process.argv[1]}.running`, "utf8").split("\n", 1)[0];
  await t.test("one that has ended", async () => undefined);
  await t.test("one that runs", async (t) => {
    t.match(noted(), `["${FILE}","${t.fullname.split(" > ").slice(-2)[0]}","one that runs"]`);
    t.notMatch(noted(), "one that has ended");
  });
});

t.test("the run names the innermost running test", async (t) => {
  const folder = t.testdir();
  await setImmediate(); // Until then, the test before this one is recorded as running.
  t.intercept(process, "env", {
    value: { ...process.env, TEST_RUN_FOLDER: folder, TEST_FILES: `[["x"],["${FILE}"]]` },
  });
  // The copy is made before this process changes the record.
  copyFileSync(`${process.argv[1]}.running`, join(folder, "batch-001.js.running"));
  const { default: report } = (await import(resolve("scripts/test-reporter.mjs"))) as { default: Report };
  const { exitCode } = process;
  let printed = "";
  for await (const text of report([])) printed += text;
  process.exitCode = exitCode;
  t.match(printed, `${FILE} did not end: its process did, during\n   the run names the innermost running test\n`);
  t.match(printed, "x did not end: its process did, before it had begun a test");
});
