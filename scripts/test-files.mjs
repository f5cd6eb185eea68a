// Runs several test files in one process, in order: starting Node and loading the shared modules
// takes longer than most files. Each file's `t` is a test of its own, named after the file. It ends
// before the next file is loaded.
//
// A file next to the program, `<program>.running`, names in its first line the tests that run. If
// the process hangs and is killed, the reporter (test-reporter.mjs) reads there which tests were
// running.
import { openSync, writeSync } from "node:fs";
import t from "tap";

let current;
/** For each running test: the names from the file's to its own. */
const running = new Map();
const note = openSync(`${process.argv[1]}.running`, "w");

/**
 * The test of the file that is being loaded. scripts/test.mjs makes each test file import it as
 * tap's `t`.
 */
export function testOfFile() {
  return current;
}

/**
 * @param files functions that load a file, by its name. Each file gets the time that tap gives to a
 * process: TAP_TIMEOUT, in seconds.
 */
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

/**
 * Records each test inside a test, from its start to its end.
 * @param names the names of the enclosing tests
 */
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

/**
 * Synchronous: a process that hangs may do nothing later. Over the line before, because emptying
 * the file for each test takes fifty times the processor time, and waits for the disk.
 */
function write() {
  writeSync(note, `${JSON.stringify([...running.values()])}\n`, 0);
}
