/** What `portico dev` prints: a line for each reload, and each problem with its place. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { inWords } from "../roles/log.js";
import type { Io } from "../terminal/io.js";
import { aligned } from "../terminal/output.js";
import { type Paint, paintFor, visible } from "../terminal/text.js";
import { framed, type SourceProblem } from "./problem.js";

/** Problems of one kind that are shown; of the others, only how many there are. */
const MAX_SHOWN = 5;

export class Printer {
  readonly #io: Io;
  readonly #root: string;
  readonly #paint: Paint;

  /** @param root the folder from which files are named. */
  constructor(io: Io, root: string) {
    this.#io = io;
    this.#root = root;
    this.#paint = paintFor(io.stdout, io.env);
  }

  /** Where the door is. */
  banner(url: string, data: string): void {
    const rows: [string, string][] = [
      ["HTTP", url],
      ["Explore", `${url}/explore`],
      ["Console", `${url}/console`],
    ];
    const password = join(data, "admin-password");
    if (existsSync(password)) rows.push(["Password", `of admin: ${this.#named(password)}`]);
    const title = this.#paint("bold", `Portico ${packageJson.version} · dev`);
    this.#print([
      "",
      title,
      "",
      ...aligned(rows, "   "),
      "",
      "Ready. Save a file to reload its service. Ctrl-C stops everything.",
      "",
    ]);
  }

  say(text: string): void {
    this.#print([text]);
  }

  /** A service that can be called in a new version. */
  serving(name: string, what: "started" | "reloaded", ms: number, url: string): void {
    const where = what === "started" ? `   ${url}` : "";
    this.#print([`${this.#paint("green", "✓")} ${name} ${what} in ${Math.round(ms)} ms${where}`]);
  }

  /** Why a service was not reloaded, or what is wrong with it. */
  failure(headline: string, problems: readonly SourceProblem[]): void {
    const shown = problems.slice(0, MAX_SHOWN).flatMap((problem) => framed(problem, this.#root, this.#paint));
    const more = problems.length > MAX_SHOWN ? [`and ${problems.length - MAX_SHOWN} more`] : [];
    const lines = [...shown, ...more].map((line) => (line === "" ? "" : `  ${line}`));
    this.#print([`${this.#paint("red", "✗")} ${headline}`, ...(lines.at(-1) === "" ? lines.slice(0, -1) : lines), ""]);
  }

  /** A line that a service has printed. Its log is JSON, which is shown in words. */
  output(name: string, line: string): void {
    const text = line.startsWith("{") ? logged(line) : line;
    if (text !== undefined) this.#print([`${this.#paint("dim", `${name} │`)} ${visible(text)}`]);
  }

  /** A line of the door's own log, but for what is so at each reload: two versions side by side. */
  log(line: string): void {
    if (line.includes('"msg":"instances differ in their contract')) return;
    this.#io.stdout.write(inWords(line, this.#io.stdout, this.#io.env));
  }

  #named(path: string): string {
    const fromRoot = relative(this.#root, path);
    if (!fromRoot.startsWith("..")) return fromRoot;
    const home = this.#io.env.HOME || homedir();
    return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  }

  #print(lines: readonly string[]): void {
    this.#io.stdout.write(`${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}\n`);
  }
}

/** What everybody may skip of a line that a handler has logged. */
const COMMON = new Set(["level", "time", "msg", "err", "requestId", "endpoint"]);

/**
 * A line of a service's log in words. Lines of handlers and warnings are shown; those about each call and the start are
 * not, because they would hide them.
 */
function logged(line: string): string | undefined {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  const { level, msg, err, endpoint } = entry;
  const isWarning = level !== "info" && level !== "debug" && level !== "trace";
  if (!isWarning && (endpoint === undefined || msg === undefined)) return undefined;
  const fields = Object.entries(entry).filter(([name]) => !COMMON.has(name));
  const error = (err as { message?: string } | undefined)?.message;
  const words = [
    isWarning ? `${level}:` : "",
    msg,
    error,
    ...fields.map(([name, value]) => `${name}=${JSON.stringify(value)}`),
  ];
  return words.filter((word) => word !== undefined && word !== "").join(" ");
}
