/**
 * Creates a SQLite file of Portico, recognizes it, connects to it, and explains failed operations.
 * Each kind of file (FILE_KINDS) has its own mark in the header.
 *
 * The file is created under a temporary name and then linked to its final name. So every file with
 * the final name was complete at some time. A file that is empty, truncated or from another program
 * is refused, and never taken for a new file.
 */

import { closeSync, constants, existsSync, linkSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import { StatusError } from "../errors.js";
import { finish, makeFolder, newDraft } from "../folder.js";
import { within } from "../within.js";
import { StoreError, unreleased, type WriteRefusal } from "./store.js";

/** What distinguishes a kind of file. */
export interface FileKind {
  /** The kind's name for messages: `a store of Portico`. */
  readonly title: string;
  /** The mark in the file's header (https://www.sqlite.org/fileformat2.html, 1.3.14). */
  readonly applicationId: number;
  /** The one format (SQLite's user_version) that this version reads and writes. */
  readonly format: number;
  /** Whether every opening checks the pages. Files that may be large are not checked. */
  readonly isChecked: boolean;
  /** The setting that names another file. */
  readonly setting: string;
}

const MAGIC = "SQLite format 3\0";
const HEADER_LENGTH = 100;

/**
 * Checks the header of the file.
 * @returns whether the file exists
 * @throws {StoreError} if it exists, but is not of this kind
 */
export function readHeader(kind: FileKind, file: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDWR);
  } catch (error) {
    // ENOTDIR: a part of the path is a file, not a folder. Creating the folder reports that later.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
  try {
    const header = Buffer.alloc(HEADER_LENGTH);
    const length = readSync(descriptor, header, 0, HEADER_LENGTH, 0);
    if (length === 0) throw new StoreError(`store ${file} is empty: it has lost its content; ${remedyOf(kind)}`);
    const ours = header.toString("latin1", 0, 16) === MAGIC && header.readUInt32BE(68) === kind.applicationId;
    if (length < HEADER_LENGTH || !ours) {
      throw new StoreError(`store ${file} is not ${kind.title}, or is damaged; ${remedyOf(kind)}`);
    }
    checkFormat(kind, file, header.readUInt32BE(60));
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a file under a temporary name, and links it to its final name.
 * @param fill opens the draft, runs the statements that mark it, creates its tables, and closes it
 * @returns whether the file was linked; false if another process was first
 */
export async function createFile(
  kind: FileKind,
  file: string,
  fill: (draft: string, marks: readonly string[]) => Promise<void>,
): Promise<boolean> {
  const folder = dirname(file);
  try {
    makeFolder(folder);
  } catch (error) {
    const remedy = `give this user the right to create it, or name another folder in PORTICO_DATA or ${kind.setting}`;
    throw new StoreError(
      `store ${file} has no folder, and ${folder} cannot be created (${(error as Error).message}); ${remedy}`,
      { cause: error },
    );
  }
  const draft = newDraft(file);
  // SQLite gives its other files the same permissions as this one.
  closeSync(openSync(draft, "wx", 0o600));
  try {
    await fill(draft, [`PRAGMA application_id = ${kind.applicationId}`, `PRAGMA user_version = ${kind.format}`]);
    readHeader(kind, draft);
    return finish(file, draft, linkSync);
  } catch (error) {
    // Another process that has created the file has deleted this draft.
    if (!existsSync(file)) throw error;
    return false;
  } finally {
    removeSqlite(draft);
  }
}

/**
 * Creates and fills a file that is absent. The file gets its name after it is filled, so an
 * incomplete file is never visible.
 * @param fill as for `createFile`
 * @throws {StoreError} if the file exists
 */
export async function fillFile(
  kind: FileKind,
  file: string,
  fill: (draft: string, marks: readonly string[]) => Promise<void>,
): Promise<void> {
  try {
    const made = !readHeader(kind, file) && (await createFile(kind, file, fill));
    if (!made) throw new StoreError(`store ${file} is there already; name a file that is not`);
  } catch (error) {
    throw toStoreError(kind, file, error as Error);
  }
}

/** @throws {StoreError} if the file does not have this version's format */
function checkFormat(kind: FileKind, file: string, format: number): void {
  if (format === kind.format) return;
  if (format < kind.format) throw new StoreError(`store ${file} ${unreleased(format, kind.format, kind.setting)}`);
  const known = `its format is ${format}, and this version of Portico knows formats up to ${kind.format}`;
  throw new StoreError(
    `store ${file} was written by a newer Portico: ${known}; run that version, or ${remedyOf(kind)}`,
  );
}

/**
 * Returns a function that says whether the file and its write-ahead log are in place: neither was
 * deleted or replaced since `watchFile` was called. Whatever is written to a deleted file is lost
 * when it is closed. Call this while a connection is open, since the connection creates both files.
 */
export function watchFile(file: string): () => boolean {
  const files = [file, `${file}-wal`].map((path) => [path, inodeOf(path)] as const);
  return () => files.every(([path, opened]) => inodeOf(path) === opened);
}

/** Identifies the file that has the path now; empty if there is none. */
export function inodeOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.dev} ${stats.ino}`;
}

/** The error of a write to a file that `watchFile` finds deleted or replaced. */
export function notInPlace(name: string): StoreError {
  const remedy = "stop this process, put the store back, and start it again";
  return new StoreError(`store ${name} was deleted or replaced while it was open: changes would be lost; ${remedy}`);
}

/** How a connection is made. */
export interface SqliteConnectOptions {
  readonly kind: FileKind;
  readonly file: string;
  /** The table that Keyv's adapter creates if it is absent. */
  readonly table: string;
  /** The maximum time for an operation, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Statements that run before anything is written. If there are any, the file is new, and its
   * format is not checked.
   */
  readonly setup?: readonly string[];
}

/**
 * Opens a connection. Closes it again if it cannot be used. Each connection waits for the disk at
 * every commit.
 */
export async function connect({ kind, file, table, timeoutMs, setup = [] }: SqliteConnectOptions): Promise<KeyvSqlite> {
  // SQLite gives up before the deadline, so that its error has the reason.
  const engine = new KeyvSqlite({ uri: `sqlite://${file}`, table, busyTimeout: Math.floor(timeoutMs / 2) });
  engine.on("error", () => undefined);
  const query = (statement: string) => endWithin(kind, file, timeoutMs, engine.query(statement));
  try {
    if (setup.length === 0) checkFormat(kind, file, (await query("PRAGMA user_version"))[0].user_version);
    for (const statement of setup) await query(statement);
    const [{ journal_mode: mode }] = await query("PRAGMA journal_mode = WAL");
    if (mode !== "wal") throw new Error(`the file system does not support SQLite's write-ahead log (got ${mode})`);
    await query("PRAGMA synchronous = FULL");
    return engine;
  } catch (error) {
    await engine.close().catch(() => undefined);
    throw error;
  }
}

/** The files that SQLite makes beside a database, by the end of their names. */
export const BESIDE = ["-wal", "-shm", "-journal"];

/** Removes a database with the files beside it. */
export function removeSqlite(file: string): void {
  // It may be in no folder, which `rmSync` reports also with `force`.
  for (const path of ["", ...BESIDE].map((end) => file + end)) if (existsSync(path)) rmSync(path, { force: true });
}

/**
 * The result of an operation.
 * @throws {StoreError} with the file's name, if the operation failed or did not end in time; a late
 *   operation may still happen
 */
export async function endWithin<T>(kind: FileKind, file: string, timeoutMs: number, operation: Promise<T>): Promise<T> {
  try {
    return await within(timeoutMs, operation, () => lateError(file, timeoutMs));
  } catch (error) {
    // An error for the caller of the operation, not a failure of the file.
    if (error instanceof StatusError) throw error;
    throw toStoreError(kind, file, error as Error);
  }
}

/** The error of an operation that did not end in time. It may still happen. */
export function lateError(file: string, timeoutMs: number): StoreError {
  return new StoreError(`store ${file} did not respond within ${timeoutMs} ms`);
}

/** Converts an error into a StoreError, whose message begins with the file's name. */
export function toStoreError(kind: FileKind, file: string, error: Error): StoreError {
  if (error instanceof StoreError && error.message.startsWith(`store ${file} `)) return error;
  const cause = error instanceof StoreError && error.cause instanceof Error ? error.cause : error;
  const code = codeOf(file, cause);
  return new StoreError(`store ${file} ${reasonOf(kind, code, cause.message)}`, {
    cause,
    reason: writeRefusalOf(code),
  });
}

const READ_ONLY: readonly string[] = ["EACCES", "EPERM", "EROFS", "SQLITE_READONLY"];

/**
 * The code of a failure. SQLite gives SQLITE_IOERR for every error of the system, so its
 * write-ahead log is opened once more to get the system's error. The database file itself is never
 * opened for this: closing it would drop SQLite's locks on it.
 */
function codeOf(file: string, { code = "" }: Error & { code?: string }): string {
  if (code !== "SQLITE_IOERR") return code;
  try {
    closeSync(openSync(`${file}-wal`, constants.O_RDWR));
    return code;
  } catch (error) {
    const { code: refusal = "" } = error as NodeJS.ErrnoException;
    return READ_ONLY.includes(refusal) ? refusal : code;
  }
}

function writeRefusalOf(code: string): WriteRefusal | undefined {
  if (["SQLITE_FULL", "ENOSPC", "EDQUOT"].includes(code)) return "disk_full";
  return READ_ONLY.includes(code) ? "read_only" : undefined;
}

/** The reason of a failure and what to do, for the operator. */
function reasonOf(kind: FileKind, code: string, message: string): string {
  if (code === "SQLITE_BUSY" || code === "SQLITE_LOCKED") {
    return `is locked by another process; stop that process, or name another file in ${kind.setting}`;
  }
  if (code === "SQLITE_FULL" || code === "ENOSPC") return `cannot grow (${message}); make room on its disk`;
  // SQLite gives no other error if the disk is full when it creates its other files.
  if (code === "SQLITE_IOERR")
    return `cannot be read or written (${message}); see whether its disk is full, or failing`;
  if (code === "EROFS") {
    return "is on a read-only file system; see in the system's log whether its disk failed, and mount it writable";
  }
  if (READ_ONLY.includes(code)) {
    return "may not be read and written, or its folder may not; give this user the right to";
  }
  if (code === "ENOTDIR") {
    return `has no folder, but a file in its place; name a folder in PORTICO_DATA, or another file in ${kind.setting}`;
  }
  if (code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB" || message.startsWith("quick_check")) {
    return `is damaged (${message}); ${remedyOf(kind)}`;
  }
  return `cannot be used: ${message}; ${remedyOf(kind)}`;
}

/** What to do about a file that cannot be used. */
function remedyOf({ setting }: FileKind): string {
  return `restore it from a backup, or name another file in ${setting}`;
}
