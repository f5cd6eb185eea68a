/** The settings of a session of Postgres. */
import type pg from "pg";

/**
 * Settings that Portico sets in each session, so that the settings of the role or the database do
 * not apply. Those that the server does not know are skipped. The planner must use the index
 * whatever the statistics say, so an operation costs no more than the rows that it returns.
 */
const ALWAYS = {
  default_transaction_isolation: "read committed",
  lock_timeout: "0",
  transaction_timeout: "0",
  idle_session_timeout: "0",
  idle_in_transaction_session_timeout: "0",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_sort: "off",
  // The disabled plan types have a high cost, for which Postgres would compile a plan in 100 ms.
  jit: "off",
  // A warning is how the server says that a commit did not wait for its standby.
  client_min_messages: "warning",
};
const SET = `SELECT set_config(name, value, false)
  FROM unnest($1::text[], $2::text[]) AS given (name, value) JOIN pg_settings USING (name)`;

/** Sets `ALWAYS` and further settings in the session of a connection. */
export async function setSession(client: pg.ClientBase, further: Readonly<Record<string, string>>): Promise<void> {
  const settings = { ...ALWAYS, ...further };
  await client.query(SET, [Object.keys(settings), Object.values(settings)]);
}
