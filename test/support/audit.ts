/** A request for the audit trail, without a filter. */
import type { ListAuditRequest } from "../../src/gen/portico/auth/v1/audit.js";

export const ALL_RECORDS: ListAuditRequest = {
  ...{ before: 0n, limit: 0, filter: "", actor: "", action: "" },
  ...{ from: undefined, until: undefined },
};
