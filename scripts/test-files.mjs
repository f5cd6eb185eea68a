// Runs several test files in one process, one after the other: to start Node and to load what they need takes longer than
// most of them. Each file's `t` is a test of its own, named by the file, and ends before the next file is loaded.
//
// A file beside the program, `<program>.running`, names the tests that run: where the process hangs and is ended, the
// reporter (test-reporter.mjs) reads there what it was at.
import { writeFileSync } from "node:fs";
import t from "tap";

let current;
/** The names that lead to each test that runs, from the file's on. */
const running = new Map();

/** The test of the file that is being loaded. scripts/test.mjs has each test file import it as tap's `t`. */
export function testOfFile() {
  return current;
}

/** @param files what loads each file, by its name. Each has as much time as tap gives to a process, TAP_TIMEOUT in seconds. */
export async function runFiles(files) {
  const timeout = Number(process.env.TAP_TIMEOUT) * 1000;
  t.setTimeout(timeout * Object.keys(files).length);
  noteTestsOf(t, []);
  for (const [name, load] of Object.entries(files)) {
    await t.test(name, { timeout }, async (test) => {
      current = test;
      await load();
    });
  }
}

/** Notes each test within a test from its start to its end. @param names of the tests that it is within */
function noteTestsOf(test, names) {
  test.on("subtestStart", (subtest) => {
    running.set(subtest, [...names, subtest.name]);
    noteTestsOf(subtest, running.get(subtest));
    write();
  });
  test.on("subtestEnd", (subtest) => {
    running.delete(subtest);
    write();
  });
}

/** At once: what hangs may do nothing later. */
function write() {
  writeFileSync(`${process.argv[1]}.running`, JSON.stringify([...running.values()]));
}
