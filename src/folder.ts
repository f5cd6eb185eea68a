/** Folders and files that only their owner may read. */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and its parents if they do not exist.
 * @throws the error of mkdir. Node's option `recursive` is not used, because it never returns under
 * /proc, where no folder can be created.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // another process was first
  }
}

/**
 * Creates a file unless it exists. It appears complete, and is on disk when this returns. @returns
 * whether it was created
 */
export function writeOnce(file: string, make: () => string): boolean {
  makeFolder(dirname(file));
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeSync(descriptor, `${make()}\n`);
    fsyncSync(descriptor);
    linkSync(draft, file);
    syncFolder(dirname(file));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    closeSync(descriptor);
    rmSync(draft, { force: true });
  }
}

/**
 * Writes a file, and replaces it if it exists. It appears complete, and is on disk when this
 * returns.
 */
export function writeAnew(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}.new`;
  writeOnce(draft, () => text);
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/** Waits until files that were created or renamed in the folder are on disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
