/**
 * Detects poolers such as PgBouncer between Portico and Postgres. In session mode, a client has one
 * session until it disconnects, which is like a direct connection. In transaction mode, each
 * transaction may get another session. Then Portico's session settings apply to other clients'
 * transactions instead of its own. One of these settings is that a commit waits for the disk and
 * the standbys.
 */
import type pg from "pg";
import { PostgresClient } from "./postgres-client.js";

/** How often the test is repeated. If there are many clients, others may get the session first. */
const TRIES = 3;

/**
 * Whether a pooler gives the session of an idle connection to other clients. Opens no other
 * connection if the client is connected to the server directly. Then the current server process is
 * the one that the client was given when it connected.
 * @param client between two transactions
 * @param config the options to open another connection of the same kind
 */
export async function sharesSessions(client: pg.ClientBase, config: pg.ClientConfig): Promise<boolean> {
  const reported = (client as unknown as { readonly processID: number | null }).processID;
  if ((await processOf(client)) === reported) return false;
  for (let tries = 0; tries < TRIES; tries++) {
    const other = new PostgresClient(config);
    await other.connect();
    try {
      const own = await processOf(client);
      // A transaction forces a pooler to assign a session now.
      await other.query("BEGIN");
      if ((await processOf(other)) === own || (await processOf(client)) !== own) return true;
    } finally {
      await other.end();
    }
  }
  return false;
}

/** The ID of the server process that runs the client's current or next transaction. */
async function processOf(client: pg.ClientBase): Promise<number> {
  return (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
}
