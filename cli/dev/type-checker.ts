/**
 * Checks the types of a service with TypeScript's compiler in another process. It checks again
 * after each change of the service's files.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setPriority } from "node:os";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { END_WITH_PARENT } from "./end-with-parent.js";
import type { SourceProblem } from "./problem.js";

/** A lower priority than processes that serve calls: the result of a type check can wait. */
const NICENESS = 10;

/**
 * A problem as the compiler prints it: `main.ts(3,7): error TS2322: Type …`, followed by indented
 * lines.
 */
const PROBLEM = /^(.+?)\((\d+),(\d+)\): error (TS\d+: .*)$/;
const GLOBAL_PROBLEM = /^error (TS\d+: .*)$/;
const DONE = /Found \d+ errors?\. Watching for file changes\.$/;

export class TypeChecker {
  readonly #child: ChildProcess;

  /**
   * @param tsc the path of the compiler's module.
   * @param folder of the service, with its tsconfig.json.
   * @param onChecked called with all problems after each check.
   */
  constructor(tsc: string, folder: string, onChecked: (problems: readonly SourceProblem[]) => void) {
    const args = [END_WITH_PARENT, tsc, "--watch", "--noEmit", "--pretty", "false", "--preserveWatchOutput"];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore", "pipe"] });
    child.on("error", () => {});
    if (child.pid !== undefined) setPriority(child.pid, NICENESS);
    this.#child = child;
    let problems: SourceProblem[] = [];
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (DONE.test(line)) {
        onChecked(problems);
        problems = [];
      } else if (/^\s/.test(line)) {
        const last = problems.pop();
        if (last !== undefined) problems.push({ ...last, message: `${last.message}\n${shortened(line.trim())}` });
      } else problems.push(...problemIn(line, folder));
    });
  }

  close(): void {
    this.#child.kill();
  }
}

function problemIn(line: string, folder: string): SourceProblem[] {
  const [, file, row, column, message] = PROBLEM.exec(line) ?? [];
  if (file !== undefined && message !== undefined) {
    return [{ file: resolve(folder, file), line: Number(row), column: Number(column), message: shortened(message) }];
  }
  const [, text] = GLOBAL_PROBLEM.exec(line) ?? [];
  return text === undefined ? [] : [{ message: text }];
}

/** Shortens the types in an error's text, because types of a contract are long. */
function shortened(message: string): string {
  return message.replace(/'([^']{60})[^']+'/g, "'$1…'");
}
