/**
 * Pages of lists, as in Google's AIP-158. The token of the next page is the position of the last item that was given, so
 * what is added or deleted between two pages neither repeats nor hides other items.
 */
import { invalidArgument } from "../../../src/errors.js";

/** Most items of a page whose size is named. */
const MAX_SIZE = 1_000;

/** What a page has at most, where its request names no size. */
interface PageLimits {
  readonly size: number;
  /** Of its items; a message has 4 MiB at most. It holds for every page. */
  readonly bytes: number;
}

const USUAL: PageLimits = { size: MAX_SIZE, bytes: 1024 ** 2 };
/** Of a list that is short in nearly all cases, and was given at once before it had pages. */
export const ALL_AT_ONCE: PageLimits = { size: Number.POSITIVE_INFINITY, bytes: 3 * 1024 ** 2 };

/** What a request for a page asks for. */
export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** What is given for it. */
export interface ListPage<T> {
  readonly items: T[];
  readonly nextPageToken: string;
}

/** How the items of a list are measured and found again. */
export interface PageItems<T> {
  /** In order, from the position on; no more of them are asked for than are given, and one. */
  readonly after: (position: readonly string[] | undefined) => Iterable<T>;
  /** Identifies the place of an item in the order. */
  readonly positionOf: (item: T) => readonly string[];
  /** In a message. */
  readonly bytesOf: (item: T) => number;
}

/**
 * The page that was asked for.
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
    // Falls through to the error below.
  }
  throw invalidArgument("page_token: must be the next_page_token of a list, unchanged");
}
