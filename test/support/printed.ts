/** What a program prints, as a person follows it: each text is awaited after the one before. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** How long something may take to be printed, in milliseconds: the type checker has a low priority, and waits for all others. */
const PRINT_MS = 150_000;

export interface Printed {
  /** Resolves with what it prints next that fits, after all that was awaited before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** All that it has printed. */
  readonly output: () => string;
}

/** @param child whose stdout and stderr are pipes; `name` is the program's, for errors. */
export function printedBy(child: ChildProcess, name: string): Printed {
  const streams = [child.stdout!, child.stderr!];
  let output = "";
  let read = 0;
  for (const stream of streams) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = once(child, "close").then(() => {
    throw new Error(`${name} ended:\n${output}`);
  });
  ended.catch(() => {});
  const prints = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const signal = AbortSignal.timeout(PRINT_MS);
    for (;;) {
      const match = pattern.exec(output.slice(read));
      if (match !== null) {
        read += match.index + match[0].length;
        return match;
      }
      if (signal.aborted) throw new Error(`${name} did not print ${pattern} but:\n${output.slice(read)}`);
      const news = streams.map((stream) => once(stream, "data", { signal }).catch(() => {}));
      await Promise.race([...news, ended]);
    }
  };
  return { prints, output: () => output };
}
