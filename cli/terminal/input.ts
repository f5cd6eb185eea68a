/**
 * Standard input that a command does not read. What somebody redirected to it would be lost without a word, so that is
 * an error. It counts as redirected to this command only where the parent process reads from elsewhere: in a
 * `while read` loop, a script piped to a shell, cron or CI, commands inherit an input that was never meant for them.
 *
 * Linux alone tells this, in /proc; elsewhere nothing is refused.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { CommandError, EXIT } from "./exit.js";
import type { Input, Io } from "./io.js";

/**
 * Call it only where the input is not going to be read: of a pipe a byte is taken.
 * @throws {CommandError} when data was redirected to this command.
 */
export function refuseInput({ stdin }: Io, message: string): void {
  if (isRedirected(stdin) && hasData()) throw new CommandError(message, EXIT.usage);
}

/** Whether the input is a file or a pipe that the parent process does not read from itself. */
export function isRedirected(stdin: Input & { readonly fd?: number }): boolean {
  if (stdin.fd !== 0 || stdin.isTTY) return false;
  try {
    const stats = fstatSync(0);
    if (!stats.isFile() && !stats.isFIFO()) return false;
    return readlinkSync("/proc/self/fd/0") !== readlinkSync(`/proc/${process.ppid}/fd/0`);
  } catch {
    return false; // no /proc, or the parent is another user's
  }
}

/** Whether there is something to read now. Never waits: a pipe that nobody writes to stays open for as long as it likes. */
function hasData(): boolean {
  const { size } = fstatSync(0);
  if (fstatSync(0).isFile()) return size > 0;
  // Opened again, the pipe can be read without waiting, and descriptor 0 keeps its own flags.
  const pipe = openSync("/proc/self/fd/0", constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return readSync(pipe, Buffer.alloc(1)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
    throw error;
  } finally {
    closeSync(pipe);
  }
}
