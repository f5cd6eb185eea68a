/** The system calls of a program, as strace sees them. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The reason to skip a test; false where strace is installed. */
export const noStrace = spawnSync("strace", ["-V"]).status !== 0 && "there is no strace here";

/** What a program printed, and its system calls that ended. */
export interface Traced {
  readonly printed: readonly string[];
  /**
   * In the order of their ends, with the paths of file descriptors and with the result:
   * `fsync(3</tmp/x>) = 0`.
   */
  readonly calls: readonly string[];
}

/**
 * Runs a bundled program in Node.
 * @param folder for the output of strace
 * @param names of the calls, such as `fsync`
 */
export function traceCalls(folder: string, names: readonly string[], program: readonly string[]): Traced {
  const trace = join(folder, "trace");
  const options = ["--follow-forks", "--decode-fds=path", `--trace=${names.join()}`, `--output=${trace}`];
  const printed = execFileSync("strace", [...options, process.execPath, ...program], { encoding: "utf8" });
  return { printed: printed.trim().split("\n"), calls: callsIn(readFileSync(trace, "utf8")) };
}

function callsIn(trace: string): string[] {
  const calls: string[] = [];
  /**
   * The unfinished system call of each thread. For a call that takes longer, strace prints its end
   * on another line.
   */
  const begun = new Map<string, string>();
  for (const line of trace.split("\n")) {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(text) ?? [];
    if (text.endsWith("<unfinished ...>")) begun.set(thread, text.slice(0, -"<unfinished ...>".length));
    else if (end !== undefined) calls.push((begun.get(thread) ?? "") + end);
    else if (text !== "") calls.push(text);
  }
  return calls;
}
