/** What `portico dev` prints: one line for each reload, and each problem with its place. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { inWords } from "../roles/log.js";
import type { Io } from "../terminal/io.js";
import { aligned } from "../terminal/output.js";
import { type Paint, paintFor, visible } from "../terminal/text.js";
import { framed, type SourceProblem } from "./problem.js";
import { isThrown, thrown } from "./thrown.js";

/**
 * Maximum number of problems of one kind that are shown. For the rest, only their number is shown.
 */
const MAX_SHOWN = 5;

/** Maximum number of origins for which it is said that their pages may not call. */
const MAX_ORIGINS = 50;

export class Printer {
  readonly #io: Io;
  readonly #root: string;
  readonly #paint: Paint;
  /** The origins of pages for which it was said that they may not call. */
  readonly #refusedOrigins = new Set<string>();

  /** @param root paths are shown relative to this folder. */
  constructor(io: Io, root: string) {
    this.#io = io;
    this.#root = root;
    this.#paint = paintFor(io.stdout, io.env);
  }

  /** The address of the gateway. */
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

  /** A new version of a service is ready for calls. */
  serving(name: string, what: "started" | "reloaded", ms: number, url: string): void {
    const where = what === "started" ? `   ${url}` : "";
    this.#print([`${this.#paint("green", "✓")} ${name} ${what} in ${Math.round(ms)} ms${where}`]);
  }

  /** A change was taken back, so the version that serves is the saved one. */
  servingStill(name: string): void {
    this.#print([`${this.#paint("green", "✓")} ${name} is good again: the version that serves is the saved one`]);
  }

  /** Why a service was not reloaded, or what its problems are. */
  failure(headline: string, problems: readonly SourceProblem[]): void {
    const shown = problems.slice(0, MAX_SHOWN).flatMap((problem) => framed(problem, this.#root, this.#paint));
    const more = problems.length > MAX_SHOWN ? [`and ${problems.length - MAX_SHOWN} more`] : [];
    const lines = [...shown, ...more].map((line) => (line === "" ? "" : `  ${line}`));
    this.#print([`${this.#paint("red", "✗")} ${headline}`, ...(lines.at(-1) === "" ? lines.slice(0, -1) : lines), ""]);
  }

  /** A line that a service has printed. Its log is in JSON, and is shown as text. */
  output(name: string, line: string): void {
    const entry = line.startsWith("{") ? parsed(line) : undefined;
    if (entry !== undefined && isThrown(entry)) {
      this.failure(`${entry.endpoint} threw. The caller got "Internal error"`, thrown(entry.err, this.#root));
      return;
    }
    const text = entry === undefined ? line : logged(entry);
    if (text !== undefined) this.#print([`${this.#paint("dim", `${name} │`)} ${visible(text)}`]);
  }

  /**
   * A line of the gateway's own log. The warning about instances with different contracts is
   * omitted: at each reload two versions run at the same time.
   * @param level from which on lines are shown; of others, only what the developer must set
   */
  log(line: string, level: string): void {
    if (line.includes('"msg":"instances differ in their contract')) return;
    if (line.startsWith('{"level":"info"') && level === "warn") this.#request(line);
    else this.#io.stdout.write(inWords(line, this.#io.stdout, this.#io.env));
  }

  /** A request that ended. If the origin of a page was refused, says once how to let it call. */
  #request(line: string): void {
    const { origin } = JSON.parse(line) as { origin?: string };
    const isKnown = origin === undefined || this.#refusedOrigins.has(origin);
    if (isKnown || this.#refusedOrigins.size >= MAX_ORIGINS) return;
    this.#refusedOrigins.add(origin);
    const { PORTICO_CORS: cors } = this.#io.env;
    const all = [...(cors === undefined || cors === "none" ? [] : [cors]), origin].join(",");
    const what = /^https?:/.test(origin)
      ? `A page of ${origin} may not call. To let it, start again with PORTICO_CORS=${all}`
      : "A page of another origin may not call. PORTICO_CORS names the origins that may";
    this.#print([`${this.#paint("red", "✗")} ${visible(what)}`, ""]);
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

type Entry = Record<string, unknown>;

function parsed(line: string): Entry | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Members of a log line that are not shown for a line that a handler has logged. */
const COMMON = new Set(["level", "time", "msg", "err", "requestId", "endpoint"]);

/**
 * A line of a service's log as text. Warnings, and lines of handlers, are shown. Lines about each
 * call and about the start are not shown, because there are too many of them.
 */
function logged(entry: Entry): string | undefined {
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
