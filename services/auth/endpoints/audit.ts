/** Audit: lists the audit trail of the caller's namespace. */
import { invalidArgument } from "../../../src/errors.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { part, type ServicePart } from "../../../src/rpc/service.js";
import type { Changes } from "../log/changelog/changes.js";
import { accountOf } from "./checks.js";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** The gRPC service portico.auth.v1.Audit. */
export function audit({ changes }: { changes: Changes }): ServicePart {
  return part(AuditService, {
    list: async ({ before, limit }, context) => {
      const { namespace } = accountOf(context);
      if (limit < 0 || limit > MAX_LIMIT) {
        throw invalidArgument(`limit: must be from 1 to ${MAX_LIMIT}, or 0 for ${DEFAULT_LIMIT}`);
      }
      await changes.sync();
      const page = { before: before > 0n ? before : undefined, limit: limit || DEFAULT_LIMIT };
      return { records: await changes.records(namespace, page) };
    },
  });
}
