/** The problem with a file in one sentence, such as `portico.yaml: no such file or folder`. */

const REASONS: ReadonlyMap<string, string> = new Map([
  ["EACCES", "this user has no permission"],
  ["EEXIST", "a file of this name exists"],
  ["EISDIR", "is a folder, not a file"],
  ["ENOENT", "no such file or folder"],
  ["ENOSPC", "no space is left on its disk"],
  ["ENOTDIR", "a part of this path is a file, not a folder"],
  ["EPERM", "this user has no permission"],
  ["EROFS", "its file system is read-only"],
]);

/** @param file its name, for errors without one, such as EISDIR when a folder is read */
export function fileProblem(error: unknown, file?: string): string {
  const { code = "", message, path = file } = error as NodeJS.ErrnoException;
  return path === undefined ? message : `${path}: ${REASONS.get(code) ?? message}`;
}
