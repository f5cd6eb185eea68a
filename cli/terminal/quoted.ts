/** A word of a command line as a POSIX shell reads it: quoted where it must be. */
export function quoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
