/** Waits for the output of a program, in order, as a person reads it. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/**
 * The maximum wait for a text, in milliseconds: the type checker has a low priority, and waits for
 * all other processes.
 */
const PRINT_MS = 150_000;

export interface Printed {
  /** Resolves with the next match in the output, after the previous match. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Returns the whole output until now. */
  readonly output: () => string;
}

/**
 * @param child a process with pipes as stdout and stderr
 * @param name the program's name, for error messages
 */
export function printedBy(child: ChildProcess, name: string): Printed {
  const streams = [child.stdout!, child.stderr!];
  let output = "";
  let read = 0;
  let onNews = (): void => {};
  for (const stream of streams) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onNews();
    });
  }
  const ended = once(child, "close").then(() => {
    throw new Error(`${name} ended:\n${output}`);
  });
  ended.catch(() => {});
  const prints = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const signal = AbortSignal.timeout(PRINT_MS);
    signal.addEventListener("abort", () => onNews());
    for (;;) {
      const match = pattern.exec(output.slice(read));
      if (match !== null) {
        read += match.index + match[0].length;
        return match;
      }
      if (signal.aborted) throw new Error(`${name} did not print ${pattern} but:\n${output.slice(read)}`);
      const news = new Promise<void>((resolve) => {
        onNews = resolve;
      });
      await Promise.race([news, ended]);
    }
  };
  return { prints, output: () => output };
}
