/**
 * Callers in their own process (overload-client.ts), and the row of a table with the results of
 * their calls.
 */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Load, Outcome } from "./overload-client.js";

const CLIENT = fileURLToPath(new URL("overload-client.ts", import.meta.url));
const hasTaskset = spawnSync("taskset", ["-V"]).status === 0;

/** The prefix of a command that runs on one core; empty without taskset. */
export const onCore = (core: number): string[] => (hasTaskset ? ["taskset", "-c", String(core)] : []);

/** @param niceness of the process, as of nice(1) */
export async function callers(load: Load, niceness = 0): Promise<Outcome> {
  const client = [process.execPath, "--import=tsx", CLIENT, JSON.stringify(load)];
  const [command, ...args] = ["nice", "-n", String(niceness), ...onCore(0), ...client] as [string, ...string[]];
  return JSON.parse((await promisify(execFile)(command, args)).stdout);
}

const HEAD: readonly string[] = [
  "| calls | load | granted in a second | refused | lost | of the peak | another service's calls: p50, p99 | refused or lost |",
  "|---|---|---|---|---|---|---|---|",
];

/**
 * The row of a table.
 * @param other the calls to another service at the same time; 50 of them began each second
 */
export function row(title: string, load: string, outcome: Outcome, peak: Outcome, other: Outcome): string {
  const { granted, refused, lost } = outcome;
  const share = `${Math.round((100 * granted) / peak.granted)} %`;
  const beside = other.granted === 0 ? "none" : `${other.p50.toFixed(1)} ms, ${other.p99.toFixed(1)} ms`;
  const unanswered = `${Math.round((100 * (other.refused + other.lost)) / 50)} %`;
  const cells = [title, load, ...[granted, refused, lost].map((count) => Math.round(count).toLocaleString("en"))];
  return `| ${[...cells, share, beside, unanswered].join(" | ")} |`;
}

/**
 * Prints the table of the kinds whose titles contain the words on stdout. Prints each row also on
 * stderr, when its kind has been measured.
 * @param measure returns the rows of a kind
 */
export async function printTable<Kind extends { readonly title: string }>(
  kinds: readonly Kind[],
  words: string,
  measure: (kind: Kind) => Promise<readonly string[]>,
): Promise<void> {
  const lines = [...HEAD];
  for (const kind of kinds.filter(({ title }) => title.includes(words))) {
    for (const line of await measure(kind)) {
      console.error(line);
      lines.push(line);
    }
  }
  console.log(lines.join("\n"));
}
