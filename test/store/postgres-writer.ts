/** Writes a chain of entries to a store by its URL until it is killed; prints the key of each that is acknowledged. */

import { writeSync } from "node:fs";
import { collectionOf, type KeyValue, writesTo } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";

const { expect, create } = writesTo("log");
const [, , url = "", first = "0"] = process.argv;
const log = collectionOf(await openStore(url, ""), "log");
let previous: KeyValue | undefined;
for (let next = Number(first); ; next++) {
  const entry: KeyValue = [`${next}`.padStart(10, "0"), "x".repeat(next % 3000)];
  // A failure ends the program: what was acknowledged is printed.
  if (!(await (previous ? log.commit([expect(previous), create(entry)]) : log.create(...entry))))
    throw new Error(`${entry[0]} is there already`);
  writeSync(1, `${entry[0]}\n`);
  previous = entry;
}
