/** Finds the records of a table that match a filter: by an index where one serves the filter, else by reading every record. */
import type { Filter } from "../../src/gen/db/db.js";
import type { Call, Entry } from "../../src/kit/index.js";
import { MAX_PAGE } from "../pages.js";
import { compileFilter, type Matcher } from "./filter.js";
import { type Indexed, placesFor } from "./indexes.js";
import { recordsOf, type StoredRecord } from "./tables.js";

/** Records that one call of Read reads at most. */
const MAX_READ = 10_000;
const MAX_RANGE = 1000;
const MAX_GET = 100;

/** A record that was found, with its ID. */
export type Found = readonly [id: string, record: StoredRecord];

/** Records in the order of their IDs, in pieces; `last` is the ID of the last of the `read` records, matching or not. */
interface Piece {
  readonly found: readonly Found[];
  readonly last: string;
  readonly read: number;
}

/**
 * The records that match, in the order of their IDs.
 * @param after only records whose ID sorts after this one
 * @throws {StatusError} INVALID_ARGUMENT for a filter that is wrong by itself
 */
export async function* search(
  call: Call,
  table: Indexed,
  filter: Filter | undefined,
  after: string,
): AsyncGenerator<Piece> {
  const matches = compileFilter(filter);
  const ids = await indexedIds(call, table, filter);
  if (ids === undefined) yield* scan(call, table, matches, after);
  else
    yield* pick(
      call,
      table,
      matches,
      ids.filter((id) => id > after),
    );
}

/** Which records may match, by an index; undefined where none serves the filter, or it serves too little. */
async function indexedIds(call: Call, table: Indexed, filter: Filter | undefined): Promise<string[] | undefined> {
  const places = placesFor(table, filter);
  if (places === undefined) return undefined;
  const ids = new Set<string>();
  for (const { prefix, after: start, reverse } of places) {
    let after = start;
    do {
      const page = await call.store<string>("indexes").range({ prefix, after, reverse, limit: MAX_RANGE });
      for (const { value } of page.entries) ids.add(value);
      if (ids.size > MAX_READ) return undefined;
      after = page.next;
    } while (after !== undefined);
  }
  return [...ids].sort();
}

async function* scan(call: Call, { id: table }: Indexed, matches: Matcher, start: string): AsyncGenerator<Piece> {
  const prefix = `${table}/`;
  let after = start === "" ? undefined : prefix + start;
  do {
    const page = await recordsOf(call).range({ prefix, after, limit: MAX_RANGE });
    if (page.entries.length === 0) return;
    const idOf = ({ key }: Entry<StoredRecord>) => key.slice(prefix.length);
    const found = page.entries
      .filter(({ value }) => matches(value.fields))
      .map((entry): Found => [idOf(entry), entry.value]);
    yield { found, last: idOf(page.entries.at(-1)!), read: page.entries.length };
    after = page.next;
  } while (after !== undefined);
}

async function* pick(call: Call, { id: table }: Indexed, matches: Matcher, ids: string[]): AsyncGenerator<Piece> {
  for (let start = 0; start < ids.length; start += MAX_GET) {
    const some = ids.slice(start, start + MAX_GET);
    const records = await recordsOf(call).getMany(some.map((id) => `${table}/${id}`));
    const found = some.flatMap((id, index): Found[] => {
      const record = records[index];
      return record !== undefined && matches(record.fields) ? [[id, record]] : [];
    });
    yield { found, last: some.at(-1)!, read: some.length };
  }
}

/** As many records as fit into a response, and the ID to read on from; empty at the end. */
export async function firstPage(
  pieces: AsyncIterable<Piece>,
  limit: number,
): Promise<{ found: Found[]; next: string }> {
  const page: Found[] = [];
  let [size, total] = [0, 0];
  for await (const { found, last, read } of pieces) {
    for (const one of found) {
      size += JSON.stringify(one[1]).length;
      if (page.length === limit || (size > MAX_PAGE && page.length > 0)) return { found: page, next: page.at(-1)![0] };
      page.push(one);
    }
    total += read;
    if (total >= MAX_READ) return { found: page, next: last };
  }
  return { found: page, next: "" };
}
