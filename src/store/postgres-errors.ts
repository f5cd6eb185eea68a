import { StoreError, type WriteRefusal } from "./store.js";
/** Converts errors of Postgres into messages for the operator: the reason, and what to do. */

/** The SQLSTATE of a notice that is neither a warning nor an error (PostgreSQL's appendix A). */
export const SUCCESSFUL = "00000";

/** The server is not the primary: it is a standby, or read-only. */
export class NotPrimaryError extends Error {
  override readonly name = "NotPrimaryError";
  /** The SQLSTATE that its writes would fail with, if it is read-only. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** The SQLSTATE read_only_sql_transaction. */
export const READ_ONLY = "25006";

type Failure = Error & { readonly code?: string | undefined };

/** Whether the error is only about the statement. Then the server has not carried it out. */
export function isOfStatement(error: unknown): boolean {
  const { code = "" } = error as Failure;
  // Other errors are about the connection or the server, which may have ended the session after a
  // commit.
  return /^(?:0[A-Z]|2[0-46-9A-Z]|[34]\d|5[345]|P0)[0-9A-Z]{3}$/.test(code);
}

interface Context {
  /** The store, for messages. */
  readonly name: string;
  /** The setting that names it. */
  readonly setting: string;
  /** In milliseconds. */
  readonly timeoutMs: number;
  /** Whether the failed operation is a write that may have happened. */
  readonly mayHaveWritten?: boolean;
}

/** Converts an error into a StoreError, whose message begins with the store's name. */
export function toPostgresError(
  error: Failure,
  { name, setting, timeoutMs, mayHaveWritten = false }: Context,
): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(`store ${name} ${reasonOf(error, setting, timeoutMs)}${unknown(mayHaveWritten)}`, {
    cause: error,
    reason: writeRefusalOf(error),
  });
}

/** By SQLSTATE: disk_full, and read_only_sql_transaction. */
function writeRefusalOf({ code }: Failure): WriteRefusal | undefined {
  return code === "53100" ? "disk_full" : code === READ_ONLY ? "read_only" : undefined;
}

/** The error of an operation that did not end in time. */
export function lateError(
  name: string,
  { timeoutMs, mayHaveWritten }: { readonly timeoutMs: number; readonly mayHaveWritten: boolean },
): StoreError {
  return new StoreError(`store ${name} did not respond within ${timeoutMs} ms${unknown(mayHaveWritten)}`);
}

function unknown(mayHaveWritten: boolean): string {
  return mayHaveWritten ? "; it is not known whether the write happened" : "";
}

/** What to do, by SQLSTATE or by its first two characters. */
const REMEDIES: Readonly<Record<string, (message: string) => string>> = {
  "28": (message) => `refuses the role (${message}); check the role, its password and the server's pg_hba.conf`,
  "3D": (message) => `cannot be used: ${message}; create the database, owned by the role`,
  "42501": (message) => `may not be read and written (${message}); give the role the right to`,
  "42P01": lost,
  "3F000": lost,
  "53200": (message) => `has no memory left (${message}); raise the server's max_locks_per_transaction`,
  "53100": (message) => `cannot grow (${message}); make room on the server's disk`,
  "53300": (message) => `has no connection left (${message}); raise the server's max_connections or the role's limit`,
  "57014": (message) => `ended the operation (${message})`,
};

function lost(message: string): string {
  return `has lost its tables (${message}); restore it from a backup`;
}

function reasonOf(error: Failure, setting: string, timeoutMs: number): string {
  const { code = "", message } = error;
  const remedy = REMEDIES[code] ?? REMEDIES[code.slice(0, 2)];
  if (remedy !== undefined) return remedy(message);
  if (error instanceof NotPrimaryError) return `${message}; name the primary in ${setting}`;
  if (message === "Query read timeout") return `did not respond within ${timeoutMs} ms`;
  if (/client password must be/.test(message))
    return "asks for a password, and there is none; set PGPASSWORD, or write it into ~/.pgpass";
  if (/timeout/.test(message)) return `gave no connection in time (${message})`;
  if (/^E[A-Z]+$/.test(code)) return `cannot be reached (${message || code}); start it, or name another in ${setting}`;
  return `cannot be used: ${message}`;
}
