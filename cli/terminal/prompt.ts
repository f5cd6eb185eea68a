/** Questions to the user at the terminal. */
import { read } from "read";
import { CommandError, EXIT, interrupted } from "./exit.js";
import { readAll } from "./input.js";
import type { Io } from "./io.js";

/** Bytes. */
const MAX_PASSWORD_INPUT = 4096;

/** Whether the user can be asked: both ends are a terminal. */
export function canAsk(io: Io): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true;
}

/**
 * Asks a question on stderr.
 * @throws {CommandError} with exit code 130 on Ctrl-C and Ctrl-D.
 */
export async function ask(
  io: Io,
  question: string,
  options: { default?: string; hidden?: boolean } = {},
): Promise<string> {
  // On Ctrl-D `read` neither resolves nor rejects. But it pauses the input, as it does after a
  // line.
  let onPause = () => {};
  const closed = new Promise<never>((_, reject) => {
    onPause = () => setImmediate(() => reject(interrupted()));
  });
  io.stdin.once("pause", onPause);
  const response = read({
    prompt: question,
    input: io.stdin,
    output: io.stderr,
    silent: options.hidden === true,
    ...(options.default !== undefined && { default: options.default }),
  }).catch(() => Promise.reject(interrupted()));
  let answered = false;
  try {
    const text = await Promise.race([response, closed]);
    answered = true;
    return text;
  } finally {
    io.stdin.off("pause", onPause);
    if (options.hidden || !answered) io.stderr.write("\n"); // Enter was not echoed
  }
}

/**
 * The password on standard input, without the line break at its end.
 * @throws {CommandError}
 */
export async function passwordFromStdin(io: Io): Promise<string> {
  const tooLong = () => new CommandError("Standard input is too long for a password", EXIT.usage);
  const text = await readAll(io.stdin, MAX_PASSWORD_INPUT, tooLong);
  const password = text.toString().replace(/\r?\n$/, "");
  if (password === "") throw new CommandError("Standard input holds no password", EXIT.usage);
  return password;
}

/**
 * The current password of an account, from PORTICO_PASSWORD or from the user.
 * @throws {CommandError}
 */
export async function currentPassword(io: Io, question: string, otherwise = ""): Promise<string> {
  if (io.env.PORTICO_PASSWORD) return io.env.PORTICO_PASSWORD;
  if (canAsk(io)) return ask(io, question, { hidden: true });
  const advice = `There is no terminal to ask for the password on. Give it in PORTICO_PASSWORD${otherwise}`;
  throw new CommandError(advice, EXIT.usage);
}

/**
 * A new password: asked twice at a terminal, or read from standard input if the flag says so.
 * @throws {CommandError}
 */
export async function newPassword(io: Io, fromStdin: boolean): Promise<string> {
  if (fromStdin) return passwordFromStdin(io);
  if (!canAsk(io)) throw new CommandError("There is no terminal to ask on. Give --password-stdin", EXIT.usage);
  const password = await ask(io, "New password:", { hidden: true });
  if (password === (await ask(io, "Once more:", { hidden: true }))) return password;
  throw new CommandError("The two passwords differ", EXIT.usage);
}
