/**
 * Commits to the services' store of a URL until it is killed. Prints the number of each
 * acknowledged commit.
 */
import { openServiceStore } from "../../src/store/open.js";

const [, , url = "", first = "0"] = process.argv;
const AT_ONCE = 8;

const store = await openServiceStore(url, "");
let next = Number(first);

async function write(): Promise<void> {
  for (;;) {
    const number = next++;
    const entry = { kind: "set", value: "x".repeat(number % 3000), expires: undefined, condition: "absent" } as const;
    const total = { kind: "increment", by: 1, min: 0, max: Number.MAX_SAFE_INTEGER, expires: undefined } as const;
    await store.commit([
      { ...entry, key: `a/${number}` },
      { ...total, key: "total" },
      { ...entry, key: `b/${number}` },
    ]);
    process.stdout.write(`${number}\n`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, write));
