/** Pages: how much of what was asked for fits into a response. */
import type { Entry, Range } from "../../src/kit/index.js";

/** Characters of the entries of a page, as JSON: a response has 4 MiB at most. */
export const MAX_PAGE = 2_097_152;

/** The first entries of a range that fit into a response, at least one, and the key to read on from; empty at the end. */
export function pageOf<T>({ entries, next }: Range<T>): { entries: readonly Entry<T>[]; next: string } {
  let size = 0;
  const end = entries.findIndex(({ value }, index) => {
    size += JSON.stringify(value).length;
    return size > MAX_PAGE && index > 0;
  });
  if (end === -1) return { entries, next: next ?? "" };
  return { entries: entries.slice(0, end), next: entries[end - 1]!.key };
}
