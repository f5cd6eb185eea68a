/**
 * The file of a backup: one line of JSON that says what it is, the content (a SQLite file of
 * Portico), and one line with the SHA-256 of all bytes before it, in hexadecimal. The checksum
 * shows that the file is whole. It does not show who wrote it.
 *
 * Such a file is written under a temporary name, read again, and then renamed. So the final name
 * always has a whole backup: the earlier one or the new one.
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "../folder.js";
import { StoreError, type StoreKind } from "./store.js";

/** The format that this version writes, and the newest that it reads. */
const FORMAT = 1;
const MAX_HEADER = 4_096;
/** 64 hexadecimal digits and a line break. */
const CHECKSUM_BYTES = 65;
const CHUNK = 1024 ** 2;

/** What the first line says. */
export interface BackupHeader {
  readonly portico: "backup";
  readonly format: number;
  readonly kind: StoreKind;
  /** The version of Portico that wrote it. */
  readonly version: string;
  /** The ID of the installation; absent for a store of services that belongs to none. */
  readonly installation?: string | undefined;
  /** The last revision in it; absent for services. */
  readonly revision?: number | undefined;
  /** When it was made (RFC 3339). */
  readonly time: string;
  /** The length of the content. */
  readonly bytes: number;
}

/**
 * Writes a backup, and replaces the file if it is an earlier backup.
 * @param content the path of the SQLite file, which nobody writes to
 * @returns the length of the file in bytes
 * @throws {StoreError} when what was written cannot be read again; else the error of the system.
 *   Then the earlier file is as it was
 */
export async function writeBackup(
  file: string,
  about: Omit<BackupHeader, "portico" | "format" | "bytes">,
  content: string,
): Promise<number> {
  const draft = draftOf(file);
  const source = await open(content, "r");
  try {
    const { size: bytes } = await source.stat();
    const header: BackupHeader = { portico: "backup", format: FORMAT, ...about, bytes };
    const line = Buffer.from(`${JSON.stringify(header)}\n`);
    const target = await open(draft, "wx", 0o600);
    try {
      const hash = createHash("sha256").update(line);
      await target.write(line);
      await copyBytes(source, bytes, { hash, target });
      await target.write(`${hash.digest("hex")}\n`);
      await target.sync();
    } finally {
      await target.close();
    }
    await readBackup(draft);
    await rename(draft, file);
    syncFolder(dirname(file));
    return line.length + bytes + CHECKSUM_BYTES;
  } finally {
    await source.close();
    rmSync(draft, { force: true });
  }
}

/**
 * Reads a whole backup, and compares its checksum.
 * @param into a new file for the content, on disk when this resolves; undefined to write nothing
 * @throws {StoreError} if the file is no backup, or is not whole, or is from a newer version
 */
export async function readBackup(file: string, into?: string): Promise<BackupHeader> {
  const source = await openBackup(file);
  try {
    const { header, line } = await readHeaderOf(source, file);
    const { size } = await source.stat();
    const whole = line.length + header.bytes + CHECKSUM_BYTES;
    if (size < whole) throw new StoreError(`backup ${file} is truncated: it has ${size} of ${whole} bytes; ${OTHER}`);
    const hash = createHash("sha256").update(line);
    const target = into === undefined ? undefined : await open(into, "wx", 0o600);
    try {
      await copyBytes(source, header.bytes, { hash, target, position: line.length });
      await target?.sync();
    } finally {
      await target?.close();
    }
    const rest = await source.read(Buffer.alloc(CHECKSUM_BYTES), 0, CHECKSUM_BYTES, line.length + header.bytes);
    const isSame = size === whole && rest.buffer.toString("latin1") === `${hash.digest("hex")}\n`;
    if (!isSame) throw new StoreError(`backup ${file} was altered: its checksum differs; ${OTHER}`);
    return header;
  } finally {
    await source.close();
  }
}

const OTHER = "use another backup";

/**
 * Refuses to replace a file that is not an earlier backup of the same store.
 * @throws {StoreError}
 */
export async function checkReplaceable(
  file: string,
  { kind, installation }: Pick<BackupHeader, "kind" | "installation">,
): Promise<void> {
  if (!existsSync(file)) return;
  const source = await openBackup(file);
  try {
    const { header } = await readHeaderOf(source, file);
    if (header.kind === kind && header.installation === installation) return;
    throw new StoreError(`${file} is a backup of another store; name another file, or delete it`);
  } finally {
    await source.close();
  }
}

async function openBackup(file: string): Promise<FileHandle> {
  try {
    return await open(file, "r");
  } catch (error) {
    throw unreadable(file, error as Error);
  }
}

function unreadable(file: string, error: Error): StoreError {
  return new StoreError(`backup ${file} cannot be read (${error.message})`, { cause: error });
}

async function readHeaderOf(source: FileHandle, file: string): Promise<{ header: BackupHeader; line: Buffer }> {
  const { buffer, bytesRead } = await source
    .read(Buffer.alloc(MAX_HEADER), 0, MAX_HEADER, 0)
    .catch((error: Error) => Promise.reject(unreadable(file, error)));
  const line = buffer.subarray(0, buffer.subarray(0, bytesRead).indexOf("\n") + 1);
  const header = parse(line.toString());
  if (header === undefined)
    throw new StoreError(`${file} is not a backup of Portico, or is damaged; name another file`);
  if (header.format > FORMAT) {
    const known = `its format is ${header.format}, and this version reads formats up to ${FORMAT}`;
    throw new StoreError(
      `backup ${file} was written by a newer Portico (${header.version}): ${known}; run that version`,
    );
  }
  return { header, line };
}

function parse(line: string): BackupHeader | undefined {
  try {
    const header = JSON.parse(line) as BackupHeader;
    const isOne = header.portico === "backup" && Number.isSafeInteger(header.format) && header.format >= 1;
    // A newer format may have other members. It is refused by its number.
    return isOne && (header.format > FORMAT || isComplete(header)) ? header : undefined;
  } catch {
    return undefined;
  }
}

/** Printable: it is shown at a terminal. */
const ID = /^[ -~]{1,64}$/;

/** Anyone can write a backup with the right checksum. */
function isComplete({ kind, version, installation, revision, time, bytes }: BackupHeader): boolean {
  return (
    (kind === "authority" || kind === "services") &&
    typeof version === "string" &&
    (installation === undefined || (typeof installation === "string" && ID.test(installation))) &&
    (revision === undefined || Number.isSafeInteger(revision)) &&
    isTime(time) &&
    Number.isSafeInteger(bytes) &&
    bytes >= 0
  );
}

function isTime(text: unknown): boolean {
  const ms = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text;
}

interface Copying {
  readonly hash: { update(bytes: Uint8Array): unknown };
  readonly target?: FileHandle | undefined;
  /** Where to begin to read. */
  readonly position?: number;
}

async function copyBytes(source: FileHandle, bytes: number, { hash, target, position = 0 }: Copying): Promise<void> {
  const buffer = Buffer.alloc(CHUNK);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(CHUNK, bytes - done), position + done);
    if (bytesRead === 0) throw new StoreError("the file became shorter while it was read");
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    await target?.writeFile(chunk);
    done += bytesRead;
  }
}

/** A new temporary name beside a file. It names the process, so that others can remove it. */
export function draftOf(file: string): string {
  return `${file}.${process.pid}-${randomBytes(4).toString("hex")}.new`;
}

/** Removes the temporary files beside a file whose processes were killed. */
export function removeLeftovers(file: string): void {
  const folder = dirname(file);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${basename(file)}.`)) continue;
    const pid = /^\.(\d+)-[0-9a-f]{8}\.new/.exec(name.slice(basename(file).length))?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
