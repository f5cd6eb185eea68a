/** Reads lists that are returned in pages. */

/** A page, and the token of the next one. */
interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string | undefined;
}

/**
 * Reads the items of all pages.
 * @param ask returns the page of a token; an empty token means the first page
 * @param max stops when there are this many items
 */
export async function readPages<T>(
  ask: (pageToken: string) => Promise<Page<T>>,
  max = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const all: T[] = [];
  for (let token: string | undefined = ""; token !== undefined; ) {
    const { items, nextPageToken } = await ask(token);
    all.push(...items);
    token = nextPageToken && all.length < max ? nextPageToken : undefined;
  }
  return all;
}
