/**
 * Pages of lists, as in Google's AIP-158. The token of the next page is the position of the last
 * item. So items that are added or deleted between two pages cause no repeated or missing items.
 */
import { invalidArgument } from "../../../src/errors.js";

/** Maximum page size that a request may ask for. */
const MAX_SIZE = 1_000;

/** The limits of a page if the request gives no size. */
interface PageLimits {
  readonly size: number;
  /** Maximum total size of its items, below the 4 MiB of a message. Applies to every page. */
  readonly bytes: number;
}

const USUAL: PageLimits = { size: MAX_SIZE, bytes: 1024 ** 2 };
/** For a list that is nearly always short, and that had no pages in earlier versions. */
export const ALL_AT_ONCE: PageLimits = { size: Number.POSITIVE_INFINITY, bytes: 3 * 1024 ** 2 };

/** The fields of a request that select a page. */
export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** A page of a list. */
export interface ListPage<T> {
  readonly items: T[];
  readonly nextPageToken: string;
}

/** How the items of a list are read, measured and found again. */
export interface PageItems<T> {
  /** The items after the position, in order. Only one item more than the page has is read. */
  readonly after: (position: readonly string[] | undefined) => Iterable<T>;
  /** Identifies the place of an item in the order. */
  readonly positionOf: (item: T) => readonly string[];
  /** Size of the item in a message. */
  readonly bytesOf: (item: T) => number;
}

/**
 * Returns the requested page.
 * @throws {StatusError} INVALID_ARGUMENT naming the field.
 */
export function pageOf<T>(request: PageRequest, list: PageItems<T>, limits: PageLimits = USUAL): ListPage<T> {
  const { pageSize, pageToken } = request;
  if (pageSize < 0 || pageSize > MAX_SIZE) {
    const unnamed = Number.isFinite(limits.size) ? limits.size : "all that fit";
    throw invalidArgument(`page_size: must be from 1 to ${MAX_SIZE}, or 0 for ${unnamed}`);
  }
  const items: T[] = [];
  let bytes = 0;
  for (const item of list.after(readToken(pageToken))) {
    bytes += list.bytesOf(item);
    if (items.length === (pageSize || limits.size) || (bytes > limits.bytes && items.length > 0)) {
      return { items, nextPageToken: tokenOf(list.positionOf(items.at(-1)!)) };
    }
    items.push(item);
  }
  return { items, nextPageToken: "" };
}

function tokenOf(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

/** @throws {StatusError} INVALID_ARGUMENT */
function readToken(token: string): readonly string[] | undefined {
  if (token === "") return undefined;
  try {
    const position: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    if (Array.isArray(position) && position.every((part) => typeof part === "string")) return position;
  } catch {
    // Continues with the error below.
  }
  throw invalidArgument("page_token: must be the next_page_token of a list, unchanged");
}
