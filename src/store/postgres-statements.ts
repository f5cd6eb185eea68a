/** The SQL of the store in Postgres. */
import type { StoredEntry } from "./store.js";

/** The maximum number of entries that one statement sweeps. */
export const MAX_SWEPT = 500;

/** SQL for a time in milliseconds since 1970. */
export const msOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`;

const COLUMNS = "key, value, version, expires::text";
const REPLACE =
  "ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires";

/** The statement that reads the entries of the keys, including expired ones. */
export function readText(table: string, keys: readonly string[]): string {
  return `SELECT ${COLUMNS} FROM ${table} WHERE key = ANY(${arrayOf(keys)})`;
}

/** The statements that write the entries and commit. */
export function writeText(table: string, set: readonly StoredEntry[], deleted: readonly string[]): string {
  const rows = set.map(
    ({ key, value, version, expires }) => `(${literal(key)}, ${literal(value)}, '${version}', ${expires ?? "NULL"})`,
  );
  const statements = [
    ...(rows.length > 0
      ? [`INSERT INTO ${table} (key, value, version, expires) VALUES ${rows.join(", ")} ${REPLACE}`]
      : []),
    ...(deleted.length > 0 ? [`DELETE FROM ${table} WHERE key = ANY(${arrayOf(deleted)})`] : []),
    "COMMIT",
  ];
  return statements.join("; ");
}

/**
 * The text as hexadecimal digits. They have no special meaning in SQL, whatever the session's
 * settings are.
 */
function literal(text: string): string {
  return `decode('${Buffer.from(text).toString("hex")}', 'hex')`;
}

function arrayOf(texts: readonly string[]): string {
  return `ARRAY[${texts.map(literal).join(", ")}]::bytea[]`;
}

/**
 * The statements on the tables of entries and of the owner. Numbers are returned as text, because
 * the client corrupts results that are not UTF-8 (see `queryOf` in postgres-connection.ts).
 */
export function statementsOf(table: string, owner: string) {
  const present = `(expires IS NULL OR expires > ${msOf("now()")})`;
  // Reads the sizes first, without the values, so that only the returned values are read. OFFSET 0
  // forces the plan to read each value by its key.
  const range = (order: "ASC" | "DESC") => `WITH
    picked AS MATERIALIZED (SELECT key, octet_length(value) AS bytes FROM ${table}
      WHERE key >= $1 AND NOT ($2::boolean AND key = $1) AND key < $3 AND ${present} ORDER BY key ${order} LIMIT $4::bigint),
    totals AS (SELECT key, bytes, sum(bytes) OVER (ORDER BY key ${order} ROWS UNBOUNDED PRECEDING) AS total FROM picked)
    SELECT entries.*, (SELECT count(*)::text FROM picked) AS picked, ${msOf("now()")}::text AS now
      FROM totals CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM ${table} WHERE key = totals.key OFFSET 0) AS entries
      WHERE total <= $5::bigint OR total = bytes ORDER BY totals.key ${order}`;
  return {
    get: {
      name: "get",
      text: `SELECT ${COLUMNS}, ${msOf("now()")}::text AS now FROM ${table} WHERE key = ANY($1::bytea[]) AND ${present}`,
    },
    range: { name: "range", text: range("ASC") },
    rangeDescending: { name: "rangeDescending", text: range("DESC") },
    count: {
      name: "count",
      text: `SELECT count(*)::text AS number FROM ${table} WHERE key >= $1 AND key < $2 AND ${present}`,
    },
    bytes: {
      name: "bytes",
      text: `SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0)::text AS bytes FROM ${table} WHERE key >= $1 AND key < $2`,
    },
    keys: {
      name: "keys",
      text: `SELECT key FROM ${table} WHERE key >= $1 AND key < $2 AND ${present} ORDER BY key`,
    },
    size: { name: "size", text: `SELECT pg_total_relation_size('${table}'::regclass)::text AS bytes` },
    time: { name: "time", text: `SELECT ${msOf("clock_timestamp()")}::text AS now` },
    owner: { name: "owner", text: `SELECT id FROM ${owner}` },
    claim: {
      name: "claim",
      text: `INSERT INTO ${owner} (id) SELECT $1 WHERE $2::boolean OR NOT EXISTS (SELECT 1 FROM ${table}) ON CONFLICT DO NOTHING`,
    },
    write: {
      name: "write",
      text: `WITH removed AS (DELETE FROM ${table} WHERE key = ANY($5::bytea[]))
        INSERT INTO ${table} (key, value, version, expires)
        SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[])
        ${REPLACE}`,
    },
    // One process at a time sweeps. A sweep does not wait for a commit, so it cannot deadlock with
    // one.
    sweep: {
      name: "sweep",
      text: `WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($1::bigint) AS mine),
        expired AS MATERIALIZED (SELECT key FROM ${table} WHERE expires <= ${msOf("now()")} AND (SELECT mine FROM turn)
          ORDER BY expires LIMIT ${MAX_SWEPT} FOR UPDATE SKIP LOCKED)
        DELETE FROM ${table} WHERE key IN (SELECT key FROM expired) RETURNING true`,
    },
  };
}
