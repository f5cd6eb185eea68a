/** What services were told is kept is there after `kill -9` at any moment, and no commit is there by half. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { openServiceStore } from "../../src/store/open.js";
import type { ServiceStore } from "../../src/store/service-store.js";
import { bundleInto } from "../support/bundle.js";

const ROUNDS = 60;
/** Longest time from the first acknowledgement to the kill, in milliseconds. */
const LONGEST = 80;

t.test(`kill -9 during commits, ${ROUNDS} times`, async (t) => {
  const folder = t.testdir();
  const program = await bundleInto(folder, "test/store/service-writer.ts");
  let known = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const acknowledged = await killedWriter(program, [folder, `${round * 1_000_000}`]);
    known += acknowledged.length;
    const store = await openServiceStore("sqlite:", folder);
    const [a, b] = [await keysBelow(store, "a/"), await keysBelow(store, "b/")];
    const lost = acknowledged.filter((number) => !a.has(number) || !b.has(number));
    if (lost.length > 0) t.fail(`round ${round} lost ${lost.join(", ")}`);
    const half = [...a].filter((number) => !b.has(number));
    if (half.length > 0 || a.size !== b.size) t.fail(`round ${round} has ${half.join(", ")} by half`);
    const [total] = await store.get(["total"]);
    if (Number(total?.value) !== a.size) t.fail(`round ${round} counts ${total?.value} instead of ${a.size}`);
    await store.close();
  }
  t.ok(known > ROUNDS, `${known} commits were acknowledged`);
});

/** What a writer acknowledged before it was killed. */
async function killedWriter(program: string, args: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const acknowledged: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => acknowledged.push(line));
  const ended = once(child, "close");
  await Promise.race([once(lines, "line"), ended]);
  await sleep(Math.random() * LONGEST);
  child.kill("SIGKILL");
  await ended;
  return acknowledged;
}

async function keysBelow(store: ServiceStore, prefix: string): Promise<Set<string>> {
  const keys = new Set<string>();
  for (let from = prefix, more = true; more; ) {
    const page = await store.range({ from, afterFrom: true, to: `${prefix}~`, limit: 1000 });
    for (const { key } of page.entries) keys.add(key.slice(prefix.length));
    from = page.entries.at(-1)?.key ?? from;
    more = page.more;
  }
  return keys;
}
