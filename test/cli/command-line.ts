/** Runs a command line in this process, and captures what it reads and writes. */
import { PassThrough } from "node:stream";
import { run } from "../../cli/program.js";
import type { Io } from "../../cli/terminal/io.js";

interface Circumstances {
  readonly env?: NodeJS.ProcessEnv;
  /** The piped input. Nothing by default. */
  readonly stdin?: string;
  /** Whether stdout is a terminal. */
  readonly terminal?: boolean;
}

export interface Outcome {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** No gateway listens on port 1. */
export const NOWHERE = "http://127.0.0.1:1";

export async function portico(args: readonly string[], circumstances: Circumstances = {}): Promise<Outcome> {
  const { io, outcome } = ioOf(circumstances);
  return outcome(await run(args, io));
}

/** Input and output of a command, with what it has written. */
export function ioOf({ env = {}, stdin = "", terminal = false }: Circumstances) {
  const stdout = Object.assign(new PassThrough(), { isTTY: terminal, columns: 80 });
  const stderr = Object.assign(new PassThrough(), { isTTY: false });
  const stdinStream = Object.assign(new PassThrough(), { isTTY: false });
  stdinStream.end(stdin);
  const io: Io = {
    stdin: stdinStream,
    stdout,
    stderr,
    env: { PORTICO_URL: NOWHERE, HOME: "/nonexistent", ...env },
    signal: new AbortController().signal,
  };
  const written = (stream: PassThrough) => (stream.read() as Buffer | null)?.toString() ?? "";
  const outcome = (exit: number): Outcome => ({ exit, stdout: written(stdout), stderr: written(stderr) });
  return { io, outcome };
}
