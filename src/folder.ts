/** Folders and files that only their owner may read. */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

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
 * Creates a file unless it exists. It appears complete, and is on disk when this returns.
 * @returns whether it was created
 */
export function writeOnce(file: string, make: () => string): boolean {
  makeFolder(dirname(file));
  return finish(file, writeDraft(file, make), linkSync);
}

/**
 * Writes a file, and replaces it if it exists. It appears complete, and is on disk when this
 * returns.
 */
export function writeAnew(file: string, text: string): void {
  makeFolder(dirname(file));
  finish(
    file,
    writeDraft(file, () => text),
    renameSync,
  );
}

function writeDraft(file: string, make: () => string): string {
  const draft = newDraft(file);
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeSync(descriptor, `${make()}\n`);
    fsyncSync(descriptor);
    return draft;
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Gives a draft its final name by `name`, and deletes every other draft of the file, from a killed
 * process or from one that is later.
 * @returns false if another process has written the file first
 */
export function finish(file: string, draft: string, name: (draft: string, file: string) => void): boolean {
  try {
    name(draft, file);
    syncFolder(dirname(file));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process that has finished the file has deleted this draft.
    if (code !== "EEXIST" && (code !== "ENOENT" || !existsSync(file))) throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
    if (existsSync(file)) deleteDrafts(file);
  }
}

const DRAFT = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.new/;

/**
 * A new name beside a file. No process ID is in it: processes in several containers may have the
 * same one.
 */
export function newDraft(file: string): string {
  return `${file}.${randomUUID()}.new`;
}

function deleteDrafts(file: string): void {
  const [folder, name] = [dirname(file), basename(file)];
  for (const other of readdirSync(folder))
    if (other.startsWith(name) && DRAFT.test(other.slice(name.length))) rmSync(join(folder, other), { force: true });
}

/** Waits until files that were created or renamed in the folder are on disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
