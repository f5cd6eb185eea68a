/**
 * Stores JSON records in tables. A record, its index entries and the number of records are written
 * in one commit.
 */
import { nanoid } from "nanoid";
import { monotonicFactory } from "ulid";
import { DbService, type Record as RecordMessage } from "../../src/gen/db/db.js";
import {
  aborted,
  alreadyExists,
  type Call,
  Code,
  type Entry,
  invalidArgument,
  notFound,
  part,
  resourceExhausted,
  StatusError,
  toTimestamp,
  type Write,
} from "../../src/kit/index.js";
import { checkAfter, checkName, checkNumber, PAGE } from "../patterns/checks.js";
import { deferDelete, deleteExpired } from "../patterns/deferred-delete.js";
import { retry } from "../patterns/retry.js";
import { checkNumbers, compileFilter, type JsonObject } from "./filter.js";
import { type IndexedTable, indexKeys } from "./indexes.js";
import { countRecords, type Found, findRecords } from "./search.js";
import {
  checkIndexes,
  countsOf,
  createTable,
  KEPT_BY_TABLE,
  MAX_RECORDS,
  recordsOf,
  type StoredRecord,
  tableOf,
  tablesOf,
} from "./tables.js";

/** The maximum number of characters in a record as JSON. */
const MAX_RECORD = 65_536;
const TOO_MANY_TO_COUNT =
  "filter: too many records would have to be read to count those that match. Index the field that it compares (CreateTable), or " +
  "count in pieces: set `after` to an empty text, pass the `next` of each response as the next `after`, and add up the counts";

const ulid = monotonicFactory();

/** The service `db`. */
export const parts = [
  part(DbService, {
    async createTable({ table, indexes }, call) {
      checkName("table", table);
      checkIndexes(indexes);
      await createTable(call, table, indexes);
      return {};
    },

    async create({ table, id: chosen, fields }, call) {
      checkName("table", table);
      if (chosen !== "") checkName("id", chosen);
      const id = chosen || ulid();
      const now = Date.now();
      const record: StoredRecord = { fields: checkFields(fields), created: now, updated: now, revision: 1 };
      return retry(call, table, async () => {
        const entry = await tableOrNew(call, table);
        const result = await recordsOf(call).commit([
          { check: table, ifVersion: entry.version, collection: "tables" },
          { set: `${entry.value.id}/${id}`, value: record, ifAbsent: true },
          { increment: entry.value.id, by: 1, max: MAX_RECORDS, collection: "counts" },
          ...indexWrites(entry.value, id, undefined, record),
        ]);
        if (result.committed) return toRecord([id, record]);
        // `failed` is the index of the write whose condition did not hold.
        if (result.failed === 1) throw alreadyExists(`id: the table ${table} has a record ${id}`);
        if (result.failed === 2)
          throw resourceExhausted(`The table ${table} has ${MAX_RECORDS} records: delete some first`);
        return undefined;
      });
    },

    async read({ table, id, filter, after, limit: asked }, call) {
      const limit = checkNumber("limit", asked, PAGE);
      checkAfter(after);
      const { value } = await tableOf(call, table);
      if (id !== "") {
        checkName("id", id);
        const matches = compileFilter(filter);
        const record = await recordsOf(call).get(`${value.id}/${id}`);
        const found = record !== undefined && matches(record.fields) && id > after;
        return { records: found ? [toRecord([id, record])] : [], next: "" };
      }
      const find = () => findRecords(call, value, { filter, after, limit });
      const { found, next } = await (filter === undefined ? find() : call.search(find));
      return { records: found.map(toRecord), next };
    },

    async update({ table, id, fields, revision }, call) {
      const changes = checkFields(fields);
      return retry(call, table, async () => {
        const { value: indexed, version: known } = await tableOf(call, table);
        const { key, value, version } = await recordOf(call, indexed, id);
        if (revision !== 0n && revision !== BigInt(value.revision)) {
          throw aborted(`The record ${id} was changed: its revision is ${value.revision}. Read it again`);
        }
        const record = {
          ...value,
          fields: merged(value.fields, changes),
          updated: Date.now(),
          revision: value.revision + 1,
        };
        const { committed } = await recordsOf(call).commit([
          { check: table, ifVersion: known, collection: "tables" },
          { set: key, value: record, ifVersion: version },
          ...indexWrites(indexed, id, value, record),
        ]);
        return committed ? toRecord([id, record]) : undefined;
      });
    },

    async delete({ table, id }, call) {
      return retry(call, table, async () => {
        const { value: indexed, version: known } = await tableOf(call, table);
        checkName("id", id);
        const entry = await recordsOf(call).getEntry(`${indexed.id}/${id}`);
        if (entry === undefined) return { deleted: false };
        const { committed } = await recordsOf(call).commit([
          { check: table, ifVersion: known, collection: "tables" },
          { delete: entry.key, ifVersion: entry.version },
          { increment: indexed.id, by: -1, collection: "counts" },
          ...indexWrites(indexed, id, entry.value, undefined),
        ]);
        return committed ? { deleted: true } : undefined;
      });
    },

    truncate: ({ table }, call) =>
      discard(call, table, ({ value, version }) => [
        { set: table, value: { ...value, id: nanoid() }, ifVersion: version },
      ]),

    async count({ table, filter, after }, call) {
      checkAfter(after ?? "");
      const { value } = await tableOf(call, table);
      if (filter === undefined && !after) return { count: (await countsOf(call).get(value.id)) ?? 0, next: "" };
      const counted = await call.search(() => countRecords(call, value, { filter, after: after ?? "" }));
      if (counted.next !== "" && after === undefined) throw resourceExhausted(TOO_MANY_TO_COUNT);
      return counted;
    },

    async renameTable({ table, newName }, call) {
      checkName("newName", newName);
      return retry(call, table, async () => {
        const { value, version } = await tableOf(call, table);
        const result = await tablesOf(call).commit([
          { delete: table, ifVersion: version },
          { set: newName, value, ifAbsent: true },
        ]);
        if (!result.committed && result.failed === 1) throw alreadyExists(`newName: there is a table ${newName}`);
        return result.committed ? {} : undefined;
      });
    },

    async listTables({ after, limit }, call) {
      const { entries, next } = await tablesOf(call).range({
        limit: checkNumber("limit", limit, PAGE),
        after: checkAfter(after),
      });
      const tables = entries.map(({ key, value }) => ({ name: key, indexes: [...value.indexes] }));
      return { tables, next: next ?? "" };
    },

    dropTable: ({ table }, call) =>
      discard(call, table, ({ version }) => [
        { delete: table, ifVersion: version },
        { increment: "tables", by: -1, collection: "counts" },
      ]),
  }),
];

/**
 * Deletes the records of a table, together with other writes.
 * @param writes the writes to `tables`; a write may name another collection
 */
function discard(call: Call, table: string, writes: (entry: Entry<IndexedTable>) => Write[]): Promise<object> {
  return retry(call, table, async () => {
    const entry = await tableOf(call, table);
    const { committed } = await tablesOf(call).commit([
      ...writes(entry),
      deferDelete(entry.value.id, KEPT_BY_TABLE),
      { delete: entry.value.id, collection: "counts" },
    ]);
    if (!committed) return undefined;
    await deleteExpired(call);
    return {};
  });
}

/** The table. Creates it without indexes if it does not exist. */
async function tableOrNew(call: Call, name: string): Promise<Entry<IndexedTable>> {
  const entry = await tablesOf(call).getEntry(name);
  if (entry !== undefined) return entry;
  try {
    await createTable(call, name, []);
  } catch (error) {
    // Another call has created it in between.
    if (!(error instanceof StatusError && error.code === Code.ALREADY_EXISTS)) throw error;
  }
  return tableOf(call, name);
}

async function recordOf(call: Call, { id: table }: IndexedTable, id: string): Promise<Entry<StoredRecord>> {
  checkName("id", id);
  const entry = await recordsOf(call).getEntry(`${table}/${id}`);
  if (entry === undefined) throw notFound(`There is no record ${id}`);
  return entry;
}

function checkFields(fields: JsonObject | undefined): JsonObject {
  if (fields === undefined) throw invalidArgument("fields: is missing");
  checkNumbers("fields", fields);
  if (JSON.stringify(fields).length > MAX_RECORD) throw invalidArgument("fields: have more than 64 KiB as JSON");
  return fields;
}

/** The fields after an update. A null removes a field. */
function merged(fields: JsonObject, changes: JsonObject): JsonObject {
  const all = Object.entries({ ...fields, ...changes }).filter(
    ([name]) => changes[name] !== null || !Object.hasOwn(changes, name),
  );
  return checkFields(Object.fromEntries(all));
}

/** Replaces the old index entries of a record by the new ones. */
function indexWrites(
  table: IndexedTable,
  id: string,
  before: StoredRecord | undefined,
  after: StoredRecord | undefined,
): Write[] {
  const old = before === undefined ? [] : indexKeys(table, id, before.fields);
  const made = after === undefined ? [] : indexKeys(table, id, after.fields);
  return [
    ...old.filter((key) => !made.includes(key)).map((key) => ({ delete: key, collection: "indexes" })),
    ...made.filter((key) => !old.includes(key)).map((key) => ({ set: key, value: id, collection: "indexes" })),
  ];
}

function toRecord([id, { fields, created, updated, revision }]: Found): RecordMessage {
  return { id, fields, created: toTimestamp(created), updated: toTimestamp(updated), revision: BigInt(revision) };
}
