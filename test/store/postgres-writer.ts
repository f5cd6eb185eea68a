/**
 * Writes a chain of entries to the store of a URL until it is killed. Prints the key of each
 * acknowledged entry.
 */

import { writeSync } from "node:fs";
import { collectionOf, type KeyValue, writesTo } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";

const { expect, create } = writesTo("log");
const [, , url = "", first = "0"] = process.argv;
const log = collectionOf(await openStore(url, ""), "log");
let previous: KeyValue | undefined;
for (let next = Number(first); ; next++) {
  const entry: KeyValue = [`${next}`.padStart(10, "0"), "x".repeat(next % 3000)];
  // A failure ends the program. The acknowledged keys are printed by then.
  if (!(await (previous ? log.commit([expect(previous), create(entry)]) : log.create(...entry))))
    throw new Error(`${entry[0]} is there already`);
  writeSync(1, `${entry[0]}\n`);
  previous = entry;
}
