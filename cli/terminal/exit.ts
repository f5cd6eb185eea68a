/** How a command ends: its exit code, and the error that it prints. */

/**
 * Exit codes. `differs`: what was compared differs. `login`: not logged in, or the login has ended.
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, differs: 3, login: 4, interrupted: 130 } as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command. The message is printed. It contains the error, its place, and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: Exit;

  constructor(message: string, exit: Exit = EXIT.failed) {
    super(message);
    this.exit = exit;
  }

  /**
   * The last line of the message. With it an operator finds the call in the log. Undefined if no
   * call failed.
   */
  get trace(): string | undefined {
    return undefined;
  }

  /** What `-o json` prints instead of the message. */
  toJSON(): object {
    return { Detail: this.message, Exit: this.exit };
  }
}

/** The user pressed Ctrl-C, or ended the input at a question. */
export function interrupted(): CommandError {
  return new CommandError("Interrupted", EXIT.interrupted);
}
