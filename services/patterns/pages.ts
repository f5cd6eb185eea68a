/** Pages: how many entries fit into a response. */
import type { Entry, Range } from "../../src/kit/index.js";

/** The maximum number of characters in a page's entries as JSON. A response has at most 4 MiB. */
export const MAX_PAGE = 2_097_152;

/**
 * The first entries of a range that fit into a response, at least one. `next` is the key after
 * which the next page begins; empty at the end.
 */
export function pageOf<T>({ entries, next }: Range<T>): { entries: readonly Entry<T>[]; next: string } {
  let size = 0;
  const end = entries.findIndex(({ value }, index) => {
    size += JSON.stringify(value).length;
    return size > MAX_PAGE && index > 0;
  });
  if (end === -1) return { entries, next: next ?? "" };
  return { entries: entries.slice(0, end), next: entries[end - 1]!.key };
}
