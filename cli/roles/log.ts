/**
 * The log of a role: JSON lines for a program, text lines on a terminal. On a terminal nothing is
 * shown before the banner. Lines that are logged earlier are shown after it.
 */
import { createLog, type Logger } from "../../src/log.js";
import type { Io, TerminalOutput } from "../terminal/io.js";
import { paintFor, visible } from "../terminal/text.js";

export interface RoleLog {
  readonly log: Logger;
  /**
   * On a terminal: shows the lines that were held back, and from then on each line as it arrives.
   */
  show(): void;
}

/** Maximum number of lines that are held back until the banner. Further lines are dropped. */
const MAX_HELD = 1_000;

/** @param level for example `info`. `silent` turns logs off. */
export function openRoleLog(level: string, { stderr, env }: Io): RoleLog {
  if (stderr.isTTY !== true) return { log: createLog(level), show: () => {} };
  const terminal = new TerminalLog(stderr, env);
  return { log: createLog(level, terminal), show: () => terminal.show() };
}

class TerminalLog {
  readonly #output: TerminalOutput;
  readonly #env: NodeJS.ProcessEnv;
  #held: string[] | undefined = [];

  constructor(output: TerminalOutput, env: NodeJS.ProcessEnv) {
    this.#output = output;
    this.#env = env;
  }

  write(line: string): void {
    if (this.#held === undefined) this.#output.write(inWords(line, this.#output, this.#env));
    else if (this.#held.length < MAX_HELD) this.#held.push(line);
  }

  show(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.write(line);
  }
}

/**
 * A log line in JSON as text: `  12:34:56 warn  what happened name=value`. Who reads it on the
 * terminal of a process knows which process it is.
 */
export function inWords(line: string, output: TerminalOutput, env: NodeJS.ProcessEnv): string {
  const { level, time, msg = "", err, role: _role, instance: _instance, ...rest } = JSON.parse(line);
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${wordOf(value)}`);
  const error = err === undefined ? [] : [`(${(err as { message?: unknown }).message})`];
  const words = [...(msg === "" ? [] : [`${msg}`]), ...error, ...fields].join(" ");
  const text = visible(`  ${`${time}`.slice(11, 19)} ${`${level}`.padEnd(5)} ${words}`);
  const isError = level === "error" || level === "fatal";
  return `${isError ? paintFor(output, env)("red", text) : text}\n`;
}

function wordOf(value: unknown): string {
  return typeof value === "string" && /^\S+$/.test(value) ? value : JSON.stringify(value);
}
