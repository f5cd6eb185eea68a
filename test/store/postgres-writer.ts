/** Writes a chain of entries to a store by its URL until it is killed; prints the key of each that is acknowledged. */
import { writeSync } from "node:fs";
import { openStore } from "../../src/store/open.js";
import type { Entry } from "../../src/store/store.js";

const [, , url = "", first = "0"] = process.argv;
const log = (await openStore(url, "")).collection("log");
let previous: Entry | undefined;
for (let next = Number(first); ; next++) {
  const entry: Entry = [`${next}`.padStart(10, "0"), "x".repeat(next % 3000)];
  // A failure ends the program: what was acknowledged is printed.
  if (!(await (previous ? log.commit({ expect: previous, create: [entry] }) : log.create(...entry))))
    throw new Error(`${entry[0]} is there already`);
  writeSync(1, `${entry[0]}\n`);
  previous = entry;
}
