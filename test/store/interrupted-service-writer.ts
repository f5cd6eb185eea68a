/** Interrupts a program that commits to a services' store, and checks the acknowledged commits. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import type { KeyValueStore } from "../../src/store/store.js";

/** The maximum time from the first acknowledgement to the interruption, in milliseconds. */
const LONGEST = 80;

/**
 * Runs the writer (service-writer.ts) until it is interrupted.
 * @param interrupt ends the writer, or the server that it writes to
 * @returns the numbers of the acknowledged commits
 */
export async function interruptedWriter(
  program: string,
  args: readonly string[],
  interrupt: (kill: () => void) => unknown = (kill) => kill(),
): Promise<string[]> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  const acknowledged: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => acknowledged.push(line));
  const ended = once(child, "close");
  await Promise.race([once(lines, "line"), ended]);
  await sleep(Math.random() * LONGEST);
  await interrupt(() => child.kill("SIGKILL"));
  await ended;
  return acknowledged;
}

/** Fails unless all acknowledged commits are there, and every commit is complete. */
export async function checkWritten(t: Test, store: KeyValueStore, acknowledged: readonly string[]): Promise<void> {
  const [a, b] = [await keysBelow(store, "a/"), await keysBelow(store, "b/")];
  const lost = acknowledged.filter((number) => !a.has(number) || !b.has(number));
  if (lost.length > 0) t.fail(`lost ${lost.join(", ")}`);
  const half = [...a].filter((number) => !b.has(number));
  if (half.length > 0 || a.size !== b.size) t.fail(`has ${half.join(", ")} by half`);
  const [total] = await store.get(["total"]);
  if (Number(total?.value ?? 0) !== a.size) t.fail(`counts ${total?.value} instead of ${a.size}`);
}

async function keysBelow(store: KeyValueStore, prefix: string): Promise<Set<string>> {
  const keys = new Set<string>();
  for (let from = prefix, more = true; more; ) {
    const page = await store.range({ from, afterFrom: true, to: `${prefix}~`, limit: 1000 });
    for (const { key } of page.entries) keys.add(key.slice(prefix.length));
    from = page.entries.at(-1)?.key ?? from;
    more = page.more;
  }
  return keys;
}
