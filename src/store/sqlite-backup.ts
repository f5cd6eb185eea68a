/**
 * The SQLite file of a store as a whole: its copy while processes write to it, and its replacement
 * while none uses it.
 */

import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "../folder.js";
import { FILE_KINDS } from "./sqlite.js";
import { BESIDE, connect, endWithin, readHeader, toStoreError } from "./sqlite-file.js";
import { StoreError, type StoreKind } from "./store.js";

/** The table of Portico's stores (sqlite.ts). */
const TABLE = "entries";
/** Maximum time to copy a file, in milliseconds: a gigabyte on a slow disk takes minutes. */
const COPY_MS = 30 * 60_000;
/** Maximum time to wait for a process that is about to close the file, in milliseconds. */
const LOCK_MS = 2_000;
/** What the name of a replaced store has after its own name, before the time. */
const BEFORE = ".before-restore-";

/**
 * Copies a store at one moment into a new file that only this user may read. Readers and writers of
 * the store go on. The copy has no free pages.
 * @throws {StoreError}
 */
export async function copySqlite(kind: StoreKind, file: string, to: string): Promise<void> {
  if (!readHeader(FILE_KINDS[kind], file)) throw new StoreError(`store ${file} does not exist`);
  const engine = await connect({ kind: FILE_KINDS[kind], file, table: TABLE, timeoutMs: COPY_MS });
  try {
    // SQLite fills an empty file, and leaves its permissions as they are.
    closeSync(openSync(to, "wx", 0o600));
    await endWithin(FILE_KINDS[kind], to, COPY_MS, engine.query("VACUUM INTO ?", to));
  } finally {
    await engine.close();
  }
}

/** Why a file could not be locked. */
export class InUseError extends StoreError {}

/**
 * Runs `act` while no other process can open the store. Changes that were only in the write-ahead
 * log are in the file then, and the log is gone.
 * @throws {InUseError} if a process has opened the store; StoreError if the file cannot be used
 */
export async function whileUnused<T>(kind: StoreKind, file: string, act: () => Promise<T>): Promise<T> {
  const fileKind = FILE_KINDS[kind];
  // With a statement in `setup` the format is not checked: a newer version may have written it.
  const options = { kind: fileKind, file, table: TABLE, timeoutMs: LOCK_MS, setup: ["PRAGMA user_version"] };
  let engine: Awaited<ReturnType<typeof connect>> | undefined;
  try {
    try {
      engine = await connect(options);
      // A process that has opened the file has a shared lock on it, also while it does nothing. The
      // mode is read again, because a process may have opened the file in between.
      await engine.query("PRAGMA journal_mode = DELETE");
      await engine.query("BEGIN EXCLUSIVE");
      const [{ journal_mode: mode }] = await engine.query("PRAGMA journal_mode");
      if (mode !== "delete") throw Object.assign(new Error("another process has opened it"), { code: "SQLITE_BUSY" });
    } catch (error) {
      throw lockError(kind, file, error as Error);
    }
    return await act();
  } finally {
    await engine?.close();
  }
}

function lockError(kind: StoreKind, file: string, error: Error): StoreError {
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
  if (code !== "SQLITE_BUSY" && code !== "SQLITE_LOCKED") return toStoreError(FILE_KINDS[kind], file, error);
  const stop = "stop every authority, server and service on this machine that uses it";
  return new InUseError(`store ${file} is in use by another process; ${stop}`, { cause: error });
}

/** Makes a copied store of services belong to no installation. */
export async function disownSqlite(kind: StoreKind, file: string): Promise<void> {
  const engine = await connect({ kind: FILE_KINDS[kind], file, table: TABLE, timeoutMs: LOCK_MS });
  try {
    await engine.query("DELETE FROM installation");
  } finally {
    await engine.close();
  }
}

/**
 * Replaces the file by a draft, in one step: a reader finds the old file or the new one. The old
 * one stays under another name.
 * @returns the name of the old file; undefined if there was none
 */
export function replaceFile(file: string, draft: string, time: Date): string | undefined {
  const folder = dirname(file);
  removeOldNames(file);
  const kept = `${file}${BEFORE}${time.toISOString().replaceAll(/[:.]/g, "-")}`;
  const exists = existsSync(file);
  if (exists) linkSync(file, kept);
  // SQLite would apply a write-ahead log of the old file to the new one.
  for (const suffix of BESIDE) if (existsSync(file + suffix)) renameSync(file + suffix, kept + suffix);
  // What root restores must be readable to Portico's own user.
  if (process.getuid?.() === 0) {
    const { uid, gid } = statSync(folder);
    chownSync(draft, uid, gid);
  }
  const descriptor = openSync(draft, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
  syncFolder(folder);
  renameSync(draft, file);
  syncFolder(folder);
  return exists ? kept : undefined;
}

/** Removes second names of the file, from a process that was killed before it replaced the file. */
function removeOldNames(file: string): void {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  for (const name of readdirSync(dirname(file))) {
    const path = join(dirname(file), name);
    if (name.startsWith(basename(file) + BEFORE) && statSync(path, { throwIfNoEntry: false })?.ino === inode)
      rmSync(path);
  }
}
