/**
 * What a command reads and writes. It is passed in, so that a test can run a command as a function.
 */
import type { Readable, Writable } from "node:stream";

export type Input = Readable & { readonly isTTY?: boolean };
export type TerminalOutput = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface Io {
  readonly stdin: Input;
  /** Data, for people and programs. */
  readonly stdout: TerminalOutput;
  /** Prompts, hints and errors. */
  readonly stderr: TerminalOutput;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}
