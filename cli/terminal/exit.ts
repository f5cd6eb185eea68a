/** How commands end. */

export const EXIT = { ok: 0, failed: 1, usage: 2, login: 4, interrupted: 130 } as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command. The message is all the person sees: what is wrong, where, and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: Exit;

  constructor(message: string, exit: Exit = EXIT.failed) {
    super(message);
    this.exit = exit;
  }

  /** A last line by which an operator finds the call: HTTP status and request id. Undefined where no call failed. */
  get trace(): string | undefined {
    return undefined;
  }

  /** What a program is told instead of the message. */
  toJSON(): object {
    return { Detail: this.message, Exit: this.exit };
  }
}

/** The person pressed Ctrl-C, or ended the input where an answer was asked for. */
export function interrupted(): CommandError {
  return new CommandError("Interrupted", EXIT.interrupted);
}
