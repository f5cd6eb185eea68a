// Runs several test files in one process, one after the other: to start Node and to load what they need takes longer than
// most of them. Each file's `t` is a test of its own, named by the file, and ends before the next file is loaded.
import t from "tap";

let current;

/** The test of the file that is being loaded. scripts/test.mjs has each test file import it as tap's `t`. */
export function testOfFile() {
  return current;
}

/** @param files what loads each file, by its name. Each has as much time as tap gives to a process, TAP_TIMEOUT in seconds. */
export async function runFiles(files) {
  const timeout = Number(process.env.TAP_TIMEOUT) * 1000;
  t.setTimeout(timeout * Object.keys(files).length);
  for (const [name, load] of Object.entries(files)) {
    await t.test(name, { timeout }, async (test) => {
      current = test;
      await load();
    });
  }
}
