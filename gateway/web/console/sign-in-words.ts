/** Words that the dialogs of issuers, trusts and clients have in common. */

/** `1 trust`, `2 trusts`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}
