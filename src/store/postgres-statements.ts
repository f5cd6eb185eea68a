/** The SQL of the store in Postgres. */

/** Entries that one statement sweeps. */
export const MAX_SWEPT = 500;

/** A time in milliseconds since 1970. */
export const msOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`;

/**
 * The statements on the table of entries and on that of the owner. Numbers are given as text: what is not UTF-8 comes damaged (see `queryOf`
 * in postgres-connection.ts).
 */
export function statementsOf(table: string, owner: string) {
  const columns = "key, value, version, expires::text";
  const present = `(expires IS NULL OR expires > ${msOf("now()")})`;
  // The sizes are read without the values, so that only what is given is read.
  const range = (order: "ASC" | "DESC") => `WITH
    picked AS MATERIALIZED (SELECT key, octet_length(value) AS bytes FROM ${table}
      WHERE key >= $1 AND NOT ($2::boolean AND key = $1) AND key < $3 AND ${present} ORDER BY key ${order} LIMIT $4::bigint),
    totals AS (SELECT key, bytes, sum(bytes) OVER (ORDER BY key ${order} ROWS UNBOUNDED PRECEDING) AS total FROM picked)
    SELECT ${columns}, (SELECT count(*)::text FROM picked) AS picked, ${msOf("now()")}::text AS now FROM ${table}
      WHERE key IN (SELECT key FROM totals WHERE total <= $5::bigint OR total = bytes) ORDER BY key ${order}`;
  return {
    get: {
      name: "get",
      text: `SELECT ${columns}, ${msOf("now()")}::text AS now FROM ${table} WHERE key = ANY($1::bytea[]) AND ${present}`,
    },
    range: { name: "range", text: range("ASC") },
    rangeDescending: { name: "rangeDescending", text: range("DESC") },
    count: {
      name: "count",
      text: `SELECT count(*)::text AS number FROM ${table} WHERE key >= $1 AND key < $2 AND ${present}`,
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
    read: { name: "read", text: `SELECT ${columns} FROM ${table} WHERE key = ANY($1::bytea[])` },
    write: {
      name: "write",
      text: `WITH removed AS (DELETE FROM ${table} WHERE key = ANY($5::bytea[]))
        INSERT INTO ${table} (key, value, version, expires)
        SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[])
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`,
    },
    // By one process at a time. It waits for no commit, and so none waits for one that waits for it.
    sweep: {
      name: "sweep",
      text: `WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($1::bigint) AS mine),
        expired AS MATERIALIZED (SELECT key FROM ${table} WHERE expires <= ${msOf("now()")} AND (SELECT mine FROM turn)
          ORDER BY expires LIMIT ${MAX_SWEPT} FOR UPDATE SKIP LOCKED)
        DELETE FROM ${table} WHERE key IN (SELECT key FROM expired) RETURNING true`,
    },
  };
}
