/** The metrics of a process that its parts know; ports and queues add their own. */
import type { HealthRoutes } from "../../gateway/built-in/health.js";
import type { Catalog } from "../../gateway/catalog/catalog.js";
import type { Authority } from "../../services/auth/authority.js";
import type { OpenGuard } from "../../src/access/guard.js";
import { certificateEnds } from "../../src/config/certificates.js";
import type { Process } from "../../src/process/process.js";
import { buildOf } from "../terminal/version.js";

/**
 * Adds the metric of the errors of a store.
 * @returns counts one
 */
export function countStoreErrors(store: "authority" | "services", metrics: Process["metrics"]): () => void {
  let errors = 0;
  metrics.add("portico_store_errors_total", () => [[store, errors]]);
  return () => {
    errors++;
  };
}

/** The parts of a process, as far as it has them. */
export interface MeasuredParts {
  readonly guard: OpenGuard;
  readonly health: HealthRoutes;
  /** Only in a gateway. */
  readonly catalog?: Catalog;
  readonly authority?: Authority;
}

/** Adds the metrics of the parts. */
export function measure(
  { guard, health, catalog, authority }: MeasuredParts,
  { config, metrics, role }: Pick<Process, "config" | "metrics" | "role">,
): void {
  const { version, commit = "" } = buildOf();
  metrics.add("portico_build_info", () => [[[version, commit, process.version, role ?? ""], 1]]);
  metrics.add("portico_ready", () => Number(health.isReady));
  metrics.add("portico_degraded", () => Number(health.errors.length > 0));
  metrics.add("portico_guard_lease_remaining_seconds", () => guard.measures.leaseMs / 1000);
  metrics.add("portico_guard_revision", () => guard.measures.revision);
  metrics.add("portico_open_streams", () => guard.measures.streams);
  metrics.add("portico_certificate_expiry_timestamp_seconds", () => certificateEnds(config));
  if (catalog !== undefined) {
    metrics.add("portico_service_instances", () => catalog.instanceStates());
    metrics.add("portico_service_ejections_total", () => catalog.ejections());
  }
  if (authority !== undefined) {
    const { measures } = authority;
    metrics.add("portico_authority_revision", () => measures.revision);
    metrics.add("portico_authority_guards", () => measures.guards);
    metrics.add("portico_changes_refused_total", () => measures.refused);
    metrics.add("portico_audit_records_dropped_total", () => measures.droppedRecords);
    metrics.add("portico_sign_ins_total", () => measures.signIns);
    metrics.add("portico_failed_logins_total", () => measures.failedLogins);
  }
}
