/** Audit: lists and exports the audit trail of the caller's namespace. */
import { invalidArgument } from "../../../src/errors.js";
import {
  type AuditRecord,
  AuditService,
  type ListAuditRequest,
  type ListAuditResponse,
} from "../../../src/gen/portico/auth/v1/audit.js";
import { part, type ServicePart } from "../../../src/rpc/service.js";
import { timestampMs } from "../../../src/time.js";
import type { Changes } from "../log/changelog/changes.js";
import { type ExportOptions, exportAudit } from "./audit-export.js";
import { accountOf } from "./checks.js";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const MAX_FILTER = 256;

/** Maximum number of records that one call looks through, and how many it reads at a time. */
const MAX_READ = 10_000;
const BATCH = 1_000;

/** The gRPC service portico.auth.v1.Audit. */
export function audit({ changes, ...options }: { changes: Changes } & ExportOptions): ServicePart {
  return part(AuditService, {
    export: exportAudit(options),
    list: async (request, context) => {
      const { namespace } = accountOf(context);
      const { limit, filter } = request;
      if (limit < 0 || limit > MAX_LIMIT) {
        throw invalidArgument(`limit: must be from 1 to ${MAX_LIMIT}, or 0 for ${DEFAULT_LIMIT}`);
      }
      if (filter.length > MAX_FILTER) throw invalidArgument(`filter: must have at most ${MAX_FILTER} characters`);
      await changes.sync();
      return find(changes, namespace, request);
    },
  });
}

async function find(changes: Changes, namespace: string, request: ListAuditRequest): Promise<ListAuditResponse> {
  const limit = request.limit || DEFAULT_LIMIT;
  const from = request.from === undefined ? undefined : timestampMs(request.from);
  const isWanted = wanted(request);
  const records: AuditRecord[] = [];
  let before = request.before > 0n ? request.before : undefined;
  const size = isFiltered(request) ? BATCH : limit;
  for (let read = 0; read < MAX_READ; read += size) {
    const page = await changes.records(namespace, { before, limit: size });
    for (const record of page) {
      if (from !== undefined && timestampMs(record.time) < from) return { records, nextBefore: 0n };
      // Records of one revision stay together, because `before` is a revision.
      if (records.length >= limit && record.revision !== before) return { records, nextBefore: before ?? 0n };
      before = record.revision;
      if (isWanted(record)) records.push(record);
    }
    if (page.length < size) return { records, nextBefore: 0n };
    if (records.length >= limit) break;
  }
  return { records, nextBefore: before ?? 0n };
}

function isFiltered({ filter, actor, action, from, until }: ListAuditRequest): boolean {
  return filter !== "" || actor !== "" || action !== "" || from !== undefined || until !== undefined;
}

function wanted({ filter, actor, action, until }: ListAuditRequest): (record: AuditRecord) => boolean {
  const text = filter.toLowerCase();
  const end = until === undefined ? Number.POSITIVE_INFINITY : timestampMs(until);
  return (record) =>
    (actor === "" || record.actor === actor) &&
    (action === "" || record.action === action) &&
    timestampMs(record.time) < end &&
    (text === "" || textOf(record).includes(text));
}

/** A line feed separates the fields, so that no text is found across two of them. */
function textOf({ actor, action, subject, address, key, requestId, revision }: AuditRecord): string {
  return [actor, action, subject, address, key, requestId, revision].join("\n").toLowerCase();
}
