/**
 * A program that opens the store in a folder and changes it. It prints a line when a change was
 * acknowledged.
 */

import { writeSync } from "node:fs";
import { collectionOf, writesTo } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";

const { expect, create } = writesTo("log");
const store = await openStore("sqlite:", process.argv[2] as string);
const log = collectionOf(store, "log");
const CHANGES: [name: string, change: () => Promise<unknown>][] = [
  ["create 1", () => log.create("1", "x")],
  ["create 2 after 1", () => log.commit([expect(["1", "x"]), create(["2", "x"])])],
  ["create in another collection", () => collectionOf(store, "usage").create("1", "x")],
  ["create a large value", () => log.create("3", "x".repeat(100_000))],
  ["delete", () => log.delete(["1", "2"])],
];
writeSync(1, "opened\n");
for (const [name, change] of CHANGES) {
  await change();
  writeSync(1, `${name}\n`);
}
await store.close();
