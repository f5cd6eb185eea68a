/**
 * Standard input: read to its end, or rejected if a command does not read it, because the data
 * would be lost silently.
 *
 * Input counts as redirected to this command only if the parent process has another standard input.
 * In a `while read` loop, in a script piped to a shell, in cron and in CI, commands inherit an
 * input that is not meant for them.
 *
 * Only Linux shows this, in /proc. On other systems nothing is rejected.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { addAbortSignal } from "node:stream";
import { CommandError, EXIT, interrupted } from "./exit.js";
import type { Input, Io } from "./io.js";

/**
 * Rejects redirected data. Only for a command that does not read its input, because it takes a byte
 * from a pipe.
 * @throws {CommandError} when data was redirected to this command.
 */
export function refuseInput({ stdin }: Io, message: string): void {
  if (isRedirected(stdin) && hasData()) throw new CommandError(message, EXIT.usage);
}

/**
 * Standard input, until Ctrl-C or SIGTERM: its writer may never close it.
 * @throws {CommandError} (rejects) when interrupted
 */
export async function* inputOf({ stdin, signal }: Io): AsyncGenerator<Uint8Array> {
  try {
    yield* addAbortSignal(signal, stdin) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw signal.aborted ? interrupted() : error;
  }
}

/**
 * All bytes of an input.
 * @throws what `tooLarge` returns, when there are more than `maxBytes`.
 */
export async function readAll(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    read.push(chunk);
  }
  return Buffer.concat(read);
}

/** Whether the input is a file or a pipe that is not the parent process's own standard input. */
export function isRedirected(stdin: Input & { readonly fd?: number }): boolean {
  if (stdin.fd !== 0 || stdin.isTTY) return false;
  try {
    const stats = fstatSync(0);
    if (!stats.isFile() && !stats.isFIFO()) return false;
    return readlinkSync("/proc/self/fd/0") !== readlinkSync(`/proc/${process.ppid}/fd/0`);
  } catch {
    return false; // There is no /proc, or the parent belongs to another user.
  }
}

/** Whether there is data to read now. Does not wait for a pipe that is open but empty. */
function hasData(): boolean {
  const { size } = fstatSync(0);
  if (fstatSync(0).isFile()) return size > 0;
  // The pipe is opened again, because O_NONBLOCK on descriptor 0 would also affect the other
  // processes that share it.
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
