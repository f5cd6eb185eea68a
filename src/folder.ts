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
 * Makes a folder and those above it, where they are not there yet.
 * @throws what mkdir throws. Node's own way of making them all goes on for ever under /proc, where none can be made.
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

/** Writes the file unless it is there; whether it did. It appears complete, and is on disk when this returns. */
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

/** Writes the file in place of the one that may be there. It appears complete, and is on disk when this returns. */
export function writeAnew(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}.new`;
  writeOnce(draft, () => text);
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/** Waits until what was created or renamed in the folder is on disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
