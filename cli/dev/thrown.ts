/**
 * What a handler threw, as a problem with its place in the source: Node has applied the source maps
 * to the stack.
 */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder } from "../terminal/package-folder.js";
import type { SourceProblem } from "./problem.js";

/**
 * A log line about a call whose handler threw anything but a StatusError (src/rpc/running-call.ts).
 */
interface Thrown {
  readonly endpoint: string;
  readonly err: unknown;
}

/** An error in a log line. */
interface Logged {
  readonly type?: string;
  readonly message?: string;
  readonly stack?: string;
}

/** Maximum number of lines of a stack that are shown. */
const MAX_FRAMES = 8;

const FRAME = /^\s+at (?:.* \()?((?:file:)?\/.+?):(\d+):(\d+)\)?$/;
/** Frames of Node and of packages, which the developer did not write. */
const OTHERS = /[( ]node:|\/node_modules\/|\(<anonymous>\)/;

/** Frames of Portico where a checkout of it is linked into the project. */
const PORTICO = join(packageFolder(), "src/");

export function isThrown(entry: Record<string, unknown>): entry is Record<string, unknown> & Thrown {
  return entry.msg === "an endpoint failed unexpectedly" && "err" in entry;
}

/** @param root the folder from which files are named. */
export function thrown(err: unknown, root: string): SourceProblem[] {
  const { type, message, stack } = { ...(err as Logged | null) };
  if (stack === undefined) return [{ message: `It threw ${JSON.stringify(err)}, which has no stack: throw an Error` }];
  const frames = stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !OTHERS.test(line) && !line.includes(PORTICO));
  const [, path, line, column] = FRAME.exec(frames[0] ?? "") ?? [];
  const what = `${type ?? "Error"}: ${message ?? ""}`;
  if (path === undefined) return [{ message: [what, ...stack.split("\n").slice(1, MAX_FRAMES)].join("\n") }];
  const named = frames
    .slice(0, MAX_FRAMES)
    .map((frame) => frame.replace(FRAME, (text, file: string) => text.replace(file, relative(root, pathOf(file)))));
  return [
    { file: pathOf(path), line: Number(line), column: Number(column), message: what },
    { message: named.join("\n") },
  ];
}

function pathOf(file: string): string {
  return file.startsWith("file:") ? fileURLToPath(file) : file;
}
