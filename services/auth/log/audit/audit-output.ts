/** Where the authority writes the lines of the audit trail: a file, or standard output. */
import { constants, write } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { within } from "../../../../src/within.js";

/** The name of standard output in the setting. */
export const STANDARD_OUTPUT = "-";

/** The lines have names of people: only the owner reads the file. */
const MODE = 0o600;
/** How much of the file's end is read to find its last line. */
const MAX_LAST = 64 * 1024;
const STDOUT = 1;
/** Maximum wait for a slow reader of standard output, in milliseconds. */
const MAX_WRITE_MS = 10_000;
const LINE_FEED = 10;

export interface AuditOutput {
  /** For messages. */
  readonly name: string;
  /**
   * Appends lines. When it resolves, they are on disk. Where the last call failed, the same lines
   * must come again.
   * @throws {Error}
   */
  write(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** @param to a path, or STANDARD_OUTPUT */
export function outputTo(to: string): AuditOutput {
  return to === STANDARD_OUTPUT ? new StandardOutput() : new FileOutput(to);
}

/** How a file ends: its last whole line, and what comes after it. */
interface End {
  readonly line: string;
  readonly torn: Buffer;
}

/**
 * Appends to a file. It is opened again where its path is another file, so that a program may
 * rename it. What a crash or a full disk has left at its end is completed, not repeated.
 */
class FileOutput implements AuditOutput {
  readonly name: string;
  #file: FileHandle | undefined;
  /** How the file ended when it was opened; undefined after the first call since. */
  #end: End | undefined;

  constructor(path: string) {
    this.name = path;
  }

  async write(lines: readonly string[]): Promise<void> {
    try {
      const file = await this.#current();
      const bytes = this.#end === undefined ? Buffer.from(lines.join("")) : unwritten(lines, this.#end);
      await writeAll(bytes, async (rest) => (await file.write(rest)).bytesWritten);
      this.#end = undefined;
      await file.datasync();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  /** The file that has the path now. */
  async #current(): Promise<FileHandle> {
    if (this.#file !== undefined) {
      const [own, named] = await Promise.all([this.#file.stat(), stat(this.name).catch(() => undefined)]);
      if (own.ino === named?.ino && own.dev === named.dev) return this.#file;
      await this.close();
    }
    // Without blocking: opening a pipe would wait for its reader.
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
    this.#file = await open(this.name, flags, MODE);
    const { size, ...found } = await this.#file.stat();
    if ((found.mode & constants.S_IFMT) !== constants.S_IFREG) {
      throw new Error("it is no regular file; name a file, or - for standard output");
    }
    this.#end = await endOf(this.#file, size);
    return this.#file;
  }
}

async function endOf(file: FileHandle, size: number): Promise<End> {
  const length = Math.min(size, MAX_LAST);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const text = buffer.subarray(0, bytesRead);
  const end = text.lastIndexOf(LINE_FEED) + 1;
  const start = end < 2 ? 0 : text.lastIndexOf(LINE_FEED, end - 2) + 1;
  return { line: text.toString("utf8", start, end), torn: text.subarray(end) };
}

/** What is missing of the lines in a file that ends like this. */
function unwritten(lines: readonly string[], { line, torn }: End): Buffer {
  const missing = Buffer.from(lines.slice(lines.lastIndexOf(line) + 1).join(""));
  if (torn.length === 0) return missing;
  if (missing.subarray(0, torn.length).equals(torn)) return missing.subarray(torn.length);
  return Buffer.concat([Buffer.from("\n"), missing]);
}

/** @param writeSome writes the beginning, and resolves to the number of bytes */
async function writeAll(bytes: Buffer, writeSome: (bytes: Buffer) => Promise<number>): Promise<void> {
  for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(await writeSome(rest));
}

/** Writes without `process.stdout`, which would stop the process for a slow reader of a pipe. */
export class StandardOutput implements AuditOutput {
  readonly name = "standard output";
  readonly #descriptor: number;
  readonly #maxMs: number;
  /** The last write, where it has not ended. */
  #writing: Promise<void> | undefined;
  /** Whether a part of a line may have been written last. */
  #isTorn = false;
  /** The lines of the last call if they were written, but only after the call had failed. */
  #late = "";

  /** The parameters are for tests. */
  constructor(descriptor = STDOUT, maxMs = MAX_WRITE_MS) {
    this.#descriptor = descriptor;
    this.#maxMs = maxMs;
  }

  async write(lines: readonly string[]): Promise<void> {
    await inTime(this.#writing, this.#maxMs);
    const text = lines.join("");
    const rest = text.startsWith(this.#late) ? text.slice(this.#late.length) : text;
    const bytes = Buffer.from(`${this.#isTorn ? "\n" : ""}${rest}`);
    this.#isTorn = true;
    this.#late = "";
    this.#writing = writeAll(bytes, (some) => writeSome(this.#descriptor, some))
      .then(() => {
        this.#isTorn = false;
        this.#late = text;
      })
      .finally(() => {
        this.#writing = undefined;
      });
    await inTime(this.#writing, this.#maxMs);
    this.#late = "";
  }

  async close(): Promise<void> {}
}

function writeSome(descriptor: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === "EAGAIN") setTimeout(resolve, 10, 0);
      else reject(error);
    });
  });
}

/** @throws {Error} when it takes too long; it goes on then */
async function inTime(writing: Promise<void> | undefined, maxMs: number): Promise<void> {
  if (writing === undefined) return;
  await within(maxMs, writing, () => new Error(`its reader takes nothing for ${maxMs / 1000} s`));
}
