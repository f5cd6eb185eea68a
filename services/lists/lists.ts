/**
 * Stores ordered lists of texts. Each item is a separate entry. Positions increase at the back and
 * decrease at the front, so a call writes only the items that it adds.
 */
import { randomUUID } from "node:crypto";
import { End, ListsService } from "../../src/gen/lists/lists.js";
import { type Call, type Entry, invalidArgument, part, resourceExhausted, type Write } from "../../src/kit/index.js";
import { checkAfter, checkBytes, checkName, checkNumber, PAGE } from "../patterns/checks.js";
import { deferDelete, deleteExpired } from "../patterns/deferred-delete.js";
import { pageOf } from "../patterns/pages.js";
import { retry } from "../patterns/retry.js";

/**
 * The maximum number of items that a call adds or takes, so that they fit into one commit with the
 * list itself.
 */
const MAX_PUSH = 64;
const COUNT = { min: 1, max: MAX_PUSH, absent: 1 };
const ITEM = { min: 0, max: 16_384 };
const MAX_ITEMS = 10_000;
/** The maximum number of lists in a namespace. */
const MAX_LISTS = 10_000;
/**
 * The position of the first item of a new list. Positions keep the same number of digits in both
 * directions.
 */
const MIDDLE = 5_000_000_000_000_000;

/**
 * A list, stored under its name. Its items are stored under `id` and their positions. `counts` has
 * the number of lists.
 */
interface StoredList {
  /**
   * A later list with the same name has another ID, so that it never gets the items of this one.
   */
  readonly id: string;
  /** The position of the first item. */
  readonly first: number;
  readonly length: number;
}

/** The service `lists`. */
export const parts = [
  part(ListsService, {
    async push({ list, items, end }, call) {
      checkName("list", list);
      checkItems(items);
      const atFront = endOf(end, End.BACK) === End.FRONT;
      return retry(call, list, async () => {
        const entry = await listsOf(call).getEntry(list);
        const old: StoredList = entry?.value ?? { id: randomUUID(), first: MIDDLE, length: 0 };
        const length = old.length + items.length;
        if (length > MAX_ITEMS) throw resourceExhausted(`The list has ${old.length} items, and ${MAX_ITEMS} at most`);
        const start = atFront ? old.first - items.length : old.first + old.length;
        const result = await listsOf(call).commit([
          ...writesOf(list, entry, { ...old, first: atFront ? start : old.first, length }),
          ...items.map((item, index) => ({ set: itemKey(old, start + index), value: item, collection: "items" })),
        ]);
        // `failed` is the index of the write whose condition did not hold. 0 is the list, which
        // another call changed; the next write counts the lists.
        if (!result.committed && result.failed > 0)
          throw resourceExhausted(`There are ${MAX_LISTS} lists: delete some first`);
        return result.committed ? { length } : undefined;
      });
    },

    async pop({ list, count: asked, end }, call) {
      checkName("list", list);
      const wanted = checkNumber("count", asked, COUNT);
      const atFront = endOf(end, End.FRONT) === End.FRONT;
      return retry(call, list, async () => {
        const entry = await listsOf(call).getEntry(list);
        if (entry === undefined) return { items: [], length: 0 };
        const old = entry.value;
        const count = Math.min(wanted, old.length);
        const start = atFront ? old.first : old.first + old.length - count;
        const keys = keysOf(old, start, count);
        const items = await itemsOf(call).getMany(keys);
        const left = { ...old, first: atFront ? old.first + count : old.first, length: old.length - count };
        const { committed } = await listsOf(call).commit([
          ...writesOf(list, entry, left),
          ...keys.map((key) => ({ delete: key, collection: "items" })),
        ]);
        return committed ? { items: items as string[], length: left.length } : undefined;
      });
    },

    async range({ list, start, limit: asked }, call) {
      checkName("list", list);
      const limit = checkNumber("limit", asked, PAGE);
      return retry(call, list, async () => {
        const stored = await listsOf(call).get(list);
        if (stored === undefined) return { items: [], length: 0 };
        const index = start < 0 ? Math.max(0, stored.length + start) : start;
        const count = Math.max(0, Math.min(limit, stored.length - index));
        if (count === 0) return { items: [], length: stored.length };
        const position = stored.first + index;
        const after = itemKey(stored, position - 1);
        const found = await itemsOf(call).range({ prefix: `${stored.id}/`, after, limit: count });
        const { entries, next } = pageOf(found);
        const items = entries.map(({ value }) => value);
        // If items are missing or are not the expected ones, another call took items in between.
        const changed = entries[0]?.key !== itemKey(stored, position) || (next === "" && items.length < count);
        return changed ? undefined : { items, length: stored.length };
      });
    },

    async delete({ list }, call) {
      checkName("list", list);
      return retry(call, list, async () => {
        const entry = await listsOf(call).getEntry(list);
        if (entry === undefined) return { deleted: false };
        const { committed } = await listsOf(call).commit([
          ...writesOf(list, entry, { ...entry.value, length: 0 }),
          deferDelete(entry.value.id, ["items"]),
        ]);
        if (!committed) return undefined;
        await deleteExpired(call);
        return { deleted: true };
      });
    },

    async list({ after, limit }, call) {
      const { entries, next } = await listsOf(call).range({
        limit: checkNumber("limit", limit, PAGE),
        after: checkAfter(after),
      });
      return { lists: entries.map(({ key, value }) => ({ list: key, length: value.length })), next: next ?? "" };
    },
  }),
];

function listsOf(call: Call) {
  return call.store<StoredList>("lists");
}

function itemsOf(call: Call) {
  return call.store<string>("items");
}

function checkItems(items: readonly string[]): void {
  if (items.length === 0 || items.length > MAX_PUSH) throw invalidArgument(`items: must be 1 to ${MAX_PUSH}`);
  for (const [index, item] of items.entries()) checkBytes(`items[${index}]`, item, ITEM);
}

function endOf(end: End, absent: End): End {
  if (end !== End.END_UNSPECIFIED && end !== End.BACK && end !== End.FRONT) {
    throw invalidArgument(`end: must be BACK or FRONT, got ${end}`);
  }
  return end === End.END_UNSPECIFIED ? absent : end;
}

/**
 * Writes the list, on the condition that it has not changed since it was read. A list without items
 * is deleted.
 */
function writesOf(name: string, read: Entry<StoredList> | undefined, list: StoredList): Write[] {
  if (read === undefined) {
    return [
      { set: name, value: list, ifAbsent: true },
      { increment: "lists", by: 1, max: MAX_LISTS, collection: "counts" },
    ];
  }
  if (list.length > 0) return [{ set: name, value: list, ifVersion: read.version }];
  return [
    { delete: name, ifVersion: read.version },
    { increment: "lists", by: -1, collection: "counts" },
  ];
}

function itemKey({ id }: StoredList, position: number): string {
  return `${id}/${position}`;
}

function keysOf(list: StoredList, start: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => itemKey(list, start + index));
}
