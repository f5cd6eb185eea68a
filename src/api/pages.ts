/** Reads lists that come in pages. */

/** A page, and the token of the next one. */
interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string | undefined;
}

/**
 * The items of all pages.
 * @param ask gives the page of a token, the first one for an empty token
 * @param max how many items are enough
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
