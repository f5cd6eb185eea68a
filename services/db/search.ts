/**
 * Finds the records of a table that match a filter. Uses an index if one fits the filter; otherwise
 * reads every record.
 */
import type { Filter } from "../../src/gen/db/db.js";
import type { Call, Entry } from "../../src/kit/index.js";
import { MAX_PAGE } from "../patterns/pages.js";
import { compileFilter, type Matcher } from "./filter.js";
import { type IndexedTable, placesFor } from "./indexes.js";
import { recordsOf, type StoredRecord } from "./tables.js";

/**
 * The maximum cost of the reads of one call. A record costs 1. A page of 4 MiB costs a sixteenth of
 * the maximum.
 */
const MAX_COST = 10_000;
const FULL_PAGE_COST = MAX_COST / 16;
/** The number of index entries that are read at once. */
const MAX_RANGE = 1000;
/**
 * The number of records that a scan reads at once. It is small, because other calls take turns in
 * between.
 */
const MAX_SCAN = 250;
const MAX_GET = 100;

/** A record that was found, with its ID. */
export type Found = readonly [id: string, record: StoredRecord];

/** A part of the results, in the order of their IDs. */
interface Batch {
  readonly found: readonly Found[];
  /** The ID of the last record that was read, whether it matches or not. */
  readonly last: string;
  /** The cost of reading them (see MAX_COST). */
  readonly cost: number;
  /** Whether more records follow that may match. */
  readonly more: boolean;
}

/** Which records are searched. */
interface Search {
  readonly filter: Filter | undefined;
  /** Only records whose ID sorts after this one. */
  readonly after: string;
  /** The maximum number of records; default all. */
  readonly limit?: number;
}

/**
 * The records that match, in the order of their IDs.
 * @throws {StatusError} INVALID_ARGUMENT if the filter is invalid
 */
async function* search(call: Call, table: IndexedTable, { filter, after, limit }: Search): AsyncGenerator<Batch> {
  const matches = compileFilter(filter);
  const ids = await indexedIds(call, table, filter);
  if (ids === undefined) {
    // Without a filter every record matches. One more record shows whether others follow.
    const page = filter === undefined && limit !== undefined ? Math.min(limit + 1, MAX_RANGE) : MAX_SCAN;
    yield* scan(call, table, { matches, after, page });
  } else
    yield* pick(
      call,
      table,
      matches,
      ids.filter((id) => id > after),
    );
}

/**
 * The IDs of the records that may match, by an index; undefined if no index can be used, or if it
 * finds too many.
 */
async function indexedIds(call: Call, table: IndexedTable, filter: Filter | undefined): Promise<string[] | undefined> {
  const places = placesFor(table, filter);
  if (places === undefined) return undefined;
  const ids = new Set<string>();
  for (const { prefix, after: start, reverse } of places) {
    let after = start;
    do {
      const page = await call.store<string>("indexes").range({ prefix, after, reverse, limit: MAX_RANGE });
      for (const { value } of page.entries) ids.add(value);
      if (ids.size > MAX_COST) return undefined;
      after = page.next;
    } while (after !== undefined);
  }
  return [...ids].sort();
}

/** The parameters of a scan: reads the records after an ID, in pages. */
interface Scan {
  readonly matches: Matcher;
  readonly after: string;
  readonly page: number;
}

async function* scan(
  call: Call,
  { id: table }: IndexedTable,
  { matches, after: start, page: limit }: Scan,
): AsyncGenerator<Batch> {
  const prefix = `${table}/`;
  let after = start === "" ? undefined : prefix + start;
  do {
    const page = await recordsOf(call).range({ prefix, after, limit });
    if (page.entries.length === 0) return;
    const idOf = ({ key }: Entry<StoredRecord>) => key.slice(prefix.length);
    const found = page.entries
      .filter(({ value }) => matches(value.fields))
      .map((entry): Found => [idOf(entry), entry.value]);
    after = page.next;
    const isFull = after !== undefined && page.entries.length < limit;
    const cost = isFull ? FULL_PAGE_COST : page.entries.length;
    yield { found, last: idOf(page.entries.at(-1)!), cost, more: after !== undefined };
  } while (after !== undefined);
}

async function* pick(call: Call, { id: table }: IndexedTable, matches: Matcher, ids: string[]): AsyncGenerator<Batch> {
  for (let start = 0; start < ids.length; start += MAX_GET) {
    const some = ids.slice(start, start + MAX_GET);
    const records = await recordsOf(call).getMany(some.map((id) => `${table}/${id}`));
    const found = some.flatMap((id, index): Found[] => {
      const record = records[index];
      return record !== undefined && matches(record.fields) ? [[id, record]] : [];
    });
    yield { found, last: some.at(-1)!, cost: some.length, more: start + some.length < ids.length };
  }
}

/**
 * As many records as fit into a response. `next` is the ID after which to continue; empty at the
 * end.
 */
export async function findRecords(
  call: Call,
  table: IndexedTable,
  wanted: Required<Search>,
): Promise<{ found: Found[]; next: string }> {
  const { limit } = wanted;
  const page: Found[] = [];
  let [size, total] = [0, 0];
  for await (const { found, last, cost, more } of search(call, table, wanted)) {
    for (const one of found) {
      size += JSON.stringify(one[1]).length;
      if (page.length === limit || (size > MAX_PAGE && page.length > 0)) return { found: page, next: page.at(-1)![0] };
      page.push(one);
    }
    total += cost;
    if (more && total >= MAX_COST) return { found: page, next: last };
  }
  return { found: page, next: "" };
}

/**
 * The number of records that match, as far as one call may count. `next` is the ID after which to
 * continue; empty at the end.
 */
export async function countRecords(
  call: Call,
  table: IndexedTable,
  wanted: Search,
): Promise<{ count: number; next: string }> {
  let [count, total] = [0, 0];
  for await (const { found, last, cost, more } of search(call, table, wanted)) {
    count += found.length;
    total += cost;
    if (more && total >= MAX_COST) return { count, next: last };
  }
  return { count, next: "" };
}
