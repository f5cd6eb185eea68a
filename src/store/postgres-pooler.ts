/**
 * Poolers between Portico and Postgres, such as PgBouncer. One that gives each client a session of its own until it
 * disconnects is no different from the server. One that gives each transaction any session is: what Portico sets for a session,
 * that a commit waits for the disk and the standbys among it, then holds for other transactions than Portico's own.
 */
import type pg from "pg";
import { PostgresClient } from "./postgres-client.js";

/** How often it is tried whether a session is given to another client. Others may get it first where there are many. */
const TRIES = 3;

/**
 * Whether a pooler gives the session of an idle connection to other clients. Asks nothing where the client is connected to the
 * server itself: only then the server's process is the one that the client was told at the beginning.
 * @param client between two transactions
 * @param config how another connection of the same kind is made
 */
export async function sharesSessions(client: pg.ClientBase, config: pg.ClientConfig): Promise<boolean> {
  const reported = (client as unknown as { readonly processID: number | null }).processID;
  if ((await processOf(client)) === reported) return false;
  for (let tries = 0; tries < TRIES; tries++) {
    const other = new PostgresClient(config);
    await other.connect();
    try {
      const own = await processOf(client);
      // A transaction, so that a pooler must give it a session now.
      await other.query("BEGIN");
      if ((await processOf(other)) === own || (await processOf(client)) !== own) return true;
    } finally {
      await other.end();
    }
  }
  return false;
}

/** The server's process that serves the client's next transaction, or its current one. */
async function processOf(client: pg.ClientBase): Promise<number> {
  return (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
}
