/** Reads from the server's settings whether a crash or a failover may lose acknowledged changes. */
import type pg from "pg";

const SETTINGS = `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_standby_names') AS synchronous,
  (SELECT count(*)::int FROM pg_stat_replication) AS standbys`;

/** Warnings for the operator; empty if the connection shows no risk. */
export async function durabilityWarnings(client: pg.ClientBase): Promise<string[]> {
  const { fsync, synchronous, standbys } = (await client.query(SETTINGS)).rows[0];
  const warnings: string[] = [];
  if (fsync === "off") {
    warnings.push("fsync is off: a crash of the server's machine loses changes that were acknowledged. Turn it on");
  }
  if (standbys > 0 && synchronous === "") {
    warnings.push(
      `${standbys} standbys are connected, and synchronous_standby_names is empty: a failover loses changes that were ` +
        "acknowledged, deleted rules and revoked keys among them. Name the standbys there",
    );
  }
  return warnings;
}
