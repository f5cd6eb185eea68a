/**
 * Reads files of the folder PORTICO_CREDENTIALS. Administrators choose the names over the API, and
 * the folder belongs to the operator of this process. So a name never leads out of the folder: it
 * is one component of a path, and the file must be a regular file and no link.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";

/** Why the files of a service cannot be used. The message never contains what is in a file. */
export class SecretFileError extends Error {
  override readonly name = "SecretFileError";
}

/** The file is there, and its content is not what it must be. */
export class MalformedFileError extends SecretFileError {}

/** A name without a folder. No name that begins with a dot is accepted. */
export const SECRET_FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

/** Not a link, and no wait for the other end of a FIFO. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The content of a file.
 * @param maxBytes the maximum size of the file
 * @throws {SecretFileError}
 */
export function readSecretFile(folder: string, name: string, maxBytes: number): Buffer {
  if (!SECRET_FILE_NAME.test(name)) throw new SecretFileError(`${JSON.stringify(name)} is no name of a file`);
  const path = join(folder, name);
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS);
    if (!fstatSync(file).isFile()) throw new SecretFileError(`${path} is no regular file`);
    const content = readAtMost(file, maxBytes + 1);
    if (content.length <= maxBytes) return content;
    throw new SecretFileError(`${path} is larger than ${maxBytes / 1024} KiB`);
  } catch (error) {
    if (error instanceof SecretFileError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SecretFileError(`${path} ${REASONS.get(code ?? "") ?? `cannot be read: ${message}`}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist"],
  ["ELOOP", "is a symbolic link; put the file itself there"],
  ["EACCES", "cannot be read: this process has no permission"],
  // A socket, or a device without a driver.
  ["ENXIO", "is no regular file"],
]);

/** The size that the file system states is not trusted: the file may grow. */
function readAtMost(file: number, maxBytes: number): Buffer {
  const content = Buffer.alloc(maxBytes);
  let size = 0;
  for (let read = -1; read !== 0 && size < maxBytes; size += read) {
    read = readSync(file, content, size, maxBytes - size, null);
  }
  return content.subarray(0, size);
}
