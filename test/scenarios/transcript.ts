/**
 * Transcripts: what a user types at a terminal, and the output. A transcript can be read as
 * documentation, and is replayed as a test.
 *
 *     # A remark.
 *
 *     $ portico login
 *     Account: (admin) «bob»
 *     Password: «{password}» hidden
 *     Logged in to http://127.0.0.1:8080 as bob (namespace default)
 *
 *     $ portico user token --profile nobody
 *     Not logged in to http://127.0.0.1:8080. Log in first: portico login
 *     [exit 4]
 *
 *     ! restart
 *
 * - `$` begins a command. A line that ends in `\` continues on the next line.
 * - The lines below are everything that the terminal shows, stdout and stderr together.
 * - `«…»` is typed at a prompt. With `hidden`, the terminal must not show it. `«^C»` and `«^D»` are
 *   keys.
 * - `{name}` is a known value. An unknown name matches one word, which is known from then on.
 * - `…` matches any text in a line, or any lines if it is alone on its line.
 * - `!` begins an event outside the terminal.
 * - `127.0.0.1:8080` is replaced by the real address.
 *
 * Each command runs in its own real terminal, in bash.
 */
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type IPty, spawn } from "@lydell/node-pty";
import type { Test } from "tap";
import { deferred } from "../support/deferred.js";

const PROGRAM = "dist/portico.js";
const DOCUMENTED = "127.0.0.1:8080";
/** The time limit of a command, which may build a service and run its tests on a busy computer. */
const TIMEOUT_MS = 30_000;

export interface Step {
  /** The number of its line in the transcript. */
  readonly line: number;
  readonly kind: "command" | "event";
  /** The command, or the name of the event. */
  readonly text: string;
  readonly shown: readonly string[];
  readonly exit: number;
}

/** The Portico for which a transcript is replayed, in one process or in several. */
export interface ReplayTarget {
  /** Base address of the gateway. */
  readonly url: string;
  /** Data folder of the authority, in which `{password}` is the administrator's first password. */
  readonly data: string;
  /** The folder in which the next command runs; default an empty one. */
  readonly cwd?: string;
  /** Environment variables of the user's shell. */
  readonly env?: Readonly<Record<string, string>>;
  /** Other values that are known at the start. */
  readonly values?: Readonly<Record<string, string>>;
  /** Programs besides portico: shell scripts, by their names. */
  readonly programs?: Readonly<Record<string, string>>;
  /** The events of `!`, by their names. */
  readonly events?: Readonly<Record<string, () => Promise<void>>>;
}

export function parse(transcript: string): Step[] {
  const steps: { line: number; kind: Step["kind"]; text: string; shown: string[]; exit: number }[] = [];
  for (const [index, line] of transcript.split("\n").entries()) {
    const last = steps.at(-1);
    if (/^[$!] /.test(line)) {
      const kind = line.startsWith("$") ? "command" : "event";
      steps.push({ line: index + 1, kind, text: line.slice(2), shown: [], exit: 0 });
    } else if (last?.shown.length === 0 && last.text.endsWith("\\")) last.text += `\n${line}`;
    else if (/^\[exit \d+\]$/.test(line) && last) last.exit = Number(line.slice(6, -1));
    else if (!line.startsWith("# ")) last?.shown.push(line);
  }
  return steps.map((step) => ({ ...step, shown: withoutBlankEnd(step.shown) }));
}

function withoutBlankEnd(lines: readonly string[]): string[] {
  const end = lines.findLastIndex((line) => line !== "");
  return lines.slice(0, end + 1);
}

/** Replays a transcript. Every command with its output is an assertion. */
export async function replay(t: Test, transcript: string, target: ReplayTarget): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "portico-transcript-"));
  mkdirSync(join(home, "bin"));
  symlinkSync(resolve(PROGRAM), join(home, "bin/portico"));
  for (const [name, script] of Object.entries(target.programs ?? {})) {
    writeFileSync(join(home, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const terminal = {
    home,
    env: {
      PATH: `${join(home, "bin")}:${process.env.PATH}`,
      HOME: home,
      PORTICO_URL: target.url,
      NO_COLOR: "1",
      ...target.env,
    },
  };
  const known = new Map(Object.entries(target.values ?? {}));
  try {
    for (const step of parse(transcript)) {
      if (step.kind === "event") await happen(step, target);
      else if (!(await perform(t, step, { target, known, terminal }))) break; // Later steps depend on this one.
    }
  } finally {
    rmSync(home, { recursive: true });
  }
}

async function happen({ text, line }: Step, target: ReplayTarget): Promise<void> {
  const event = target.events?.[text];
  if (event === undefined) throw new Error(`line ${line}: there is no event "! ${text}"`);
  await event();
}

interface Circumstances {
  readonly target: ReplayTarget;
  readonly known: Map<string, string>;
  readonly terminal: { readonly home: string; readonly env: Record<string, string> };
}

async function perform(t: Test, step: Step, { target, known, terminal }: Circumstances): Promise<boolean> {
  const password = join(target.data, "admin-password");
  if (existsSync(password)) known.set("password", readFileSync(password, "utf8").trim());
  const local = (text: string) => text.replaceAll(DOCUMENTED, new URL(target.url).host);
  const screen = new Screen(fill(local(step.text), known), target.cwd ?? terminal.home, terminal.env);
  const expected = local(step.shown.join("\n"));
  for (const { 0: prompt, index } of expected.matchAll(TYPED)) {
    if (await screen.shows(patternOf(expected.slice(0, index).trimEnd(), known)))
      screen.type(fill(prompt.slice(1, prompt.indexOf("»")), known));
    else screen.close();
  }
  const exit = await screen.exit();
  const match = patternOf(expected, known).exec(screen.text);
  for (const [name, value] of Object.entries(match?.groups ?? {})) known.set(name, value);
  const name = `line ${step.line}: $ ${step.text}`;
  if (match) return t.equal(exit, step.exit, name);
  return t.same({ exit, shown: screen.text }, { exit: step.exit, shown: expected }, name);
}

/** `«text»` or `«text» hidden` */
const TYPED = /«[^»]*»(?: hidden)?/g;
const SPECIAL = /«[^»]*»(?: hidden)?|\{[a-z][A-Za-z]*\}|(?<lines>^…$)|…/gm;

/** A pattern for the whole output of a command. */
function patternOf(expected: string, known: ReadonlyMap<string, string>): RegExp {
  let pattern = "";
  let end = 0;
  for (const { 0: special, index, groups } of expected.matchAll(SPECIAL)) {
    const given = groups?.lines === undefined ? specialPattern(special, known, pattern) : "[\\s\\S]*";
    pattern += literal(expected.slice(end, index)) + given;
    end = index + special.length;
  }
  return new RegExp(`^${pattern}${literal(expected.slice(end))}$`);
}

function specialPattern(special: string, known: ReadonlyMap<string, string>, before: string): string {
  if (special === "…") return ".*";
  if (special.startsWith("{")) {
    const name = special.slice(1, -1);
    const value = known.get(name);
    if (value !== undefined) return literal(value);
    return before.includes(`(?<${name}>`) ? `\\k<${name}>` : `(?<${name}>\\S+)`;
  }
  if (special.startsWith("«^")) return "(?:\\^[CD])?"; // The program decides whether the terminal shows keys.
  return special.endsWith("hidden") ? "" : literal(fill(special.slice(1, -1), known));
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Replaces the names of known values by the values. */
function fill(text: string, known: ReadonlyMap<string, string>): string {
  return text.replace(/\{([a-z][A-Za-z]*)\}/g, (whole, name) => known.get(name) ?? whole);
}

/** Cursor to column 1, and erase to the end of the screen: how readline redraws its line. */
const REDRAW = "\u001b[1G\u001b[0J";

// biome-ignore lint/suspicious/noControlCharactersInRegex: a sequence that no command writes.
const END = /\x1b_end (\d+)\x1b/;

/** A terminal that runs one command. */
class Screen {
  readonly #terminal: IPty;
  readonly #ended: Promise<number>;
  #raw = "";
  #onChange = () => {};

  /**
   * Runs the command. The shell prints the exit code after all output of the command, because the
   * terminal's own exit event may come before the last output.
   */
  constructor(command: string, cwd: string, env: Record<string, string>) {
    const script = `trap : INT\n${command}\nprintf '\\033_end %s\\033' "$?"; read -r`;
    this.#terminal = spawn("bash", ["-c", script], { cwd, env, cols: 80, rows: 24, name: "xterm-256color" });
    const { promise, resolve } = deferred<number>();
    this.#ended = promise;
    this.#terminal.onData((data) => {
      this.#raw += data;
      const end = END.exec(this.#raw);
      if (end !== null) {
        this.#raw = this.#raw.slice(0, end.index);
        resolve(Number(end[1]));
        this.close();
      }
      this.#onChange();
    });
    this.#terminal.onExit(({ exitCode }) => resolve(exitCode));
  }

  /** The text that a user sees. A line that was redrawn is in it once. */
  get text(): string {
    const [first = "", ...redrawn] = this.#raw.replace(/\r+\n/g, "\n").split(REDRAW);
    const drawn = redrawn.reduce((above, line) => above.slice(0, above.lastIndexOf("\n") + 1) + line, first);
    return stripVTControlCharacters(drawn).trimEnd();
  }

  /** Waits for the pattern; false if the command ends or times out before. */
  async shows(pattern: RegExp): Promise<boolean> {
    const late = AbortSignal.timeout(TIMEOUT_MS);
    const over = Promise.race([this.#ended, once(late, "abort")]).then(() => false);
    for (;;) {
      if (pattern.test(this.text)) return true;
      const changed = new Promise<boolean>((resolve) => {
        this.#onChange = () => resolve(true);
      });
      if (!(await Promise.race([changed, over]))) return pattern.test(this.text);
    }
  }

  type(text: string): void {
    this.#terminal.write(text === "^C" ? "\x03" : text === "^D" ? "\x04" : `${text}\r`);
  }

  /** Kills a command that does not do what it should. */
  close(): void {
    this.#terminal.kill("SIGKILL");
  }

  /** The exit code; a command that takes too long is killed. */
  async exit(): Promise<number> {
    const timer = setTimeout(() => this.close(), TIMEOUT_MS);
    return this.#ended.finally(() => clearTimeout(timer));
  }
}
