/** `portico auth export audit`: the audit trail as lines of JSON, each record once. */
import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "commander";
import { auditLine } from "../../src/api/audit-line.js";
import type { AuditRecord } from "../../src/api/types.js";
import { gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { CallFailure } from "../http/failure.js";
import { parseInstant } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { drained } from "../terminal/output.js";
import { visibleLines } from "../terminal/text.js";

/** The first pause before the gateway is called again, and the longest, in milliseconds. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

interface Flags {
  readonly after?: string;
  readonly until?: string;
  readonly follow?: true;
}

/** The messages of Audit.Export in proto3 JSON. */
interface Message {
  readonly records: readonly AuditRecord[];
  readonly deleted?: { readonly after: string; readonly until: string; readonly time: string };
}

export const exportAudit = gatewayCommand({
  usage: "audit",
  summary: "print who changed what as lines of JSON, oldest first",
  examples: [
    "portico auth export audit > audit.jsonl",
    "portico auth export audit --after=512.0             what came later",
    "portico auth export audit --after=512.0 --follow    and what comes",
  ],
  options: [
    new Option("--after <cursor>", "only after the record with this cursor, or after this revision"),
    new Option("--until <time>", "only before this time, such as 2026-11-24T09:30:00Z").argParser(parseInstant),
    new Option("--follow", "go on with later records, until it is interrupted").conflicts("until"),
  ],
  formats: [],
  async run(connection, flags: Flags) {
    await connection.client.token();
    await new AuditExport(connection, flags).run();
  },
});

/** An export that goes on where it was broken off. */
class AuditExport {
  readonly #connection: CommandConnection;
  readonly #flags: Flags;
  /** The cursor of the last record that was printed. */
  #after: string;
  /** How often the gateway was called again since its last message. */
  #failures = 0;
  #hasBegun = false;

  constructor(connection: CommandConnection, flags: Flags) {
    this.#connection = connection;
    this.#flags = flags;
    this.#after = flags.after ?? "";
  }

  /** @throws {CommandError} that says where to go on */
  async run(): Promise<void> {
    const { io } = this.#connection;
    for (;;) {
      try {
        await this.#receive();
        if (!this.#flags.follow) return;
      } catch (error) {
        if (io.signal.aborted || !this.#mayGoOn(error)) throw this.#withPlace(error);
        // Said once, before the first pause.
        if (this.#failures === 1) io.stderr.write(`${visibleLines((error as Error).message)}\nTrying again\n`);
      }
      if (this.#failures === 0) this.#failures = 1;
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS), undefined, {
        signal: io.signal,
      }).catch(() => undefined);
    }
  }

  async #receive(): Promise<void> {
    const { client } = this.#connection;
    const request = { after: this.#after, until: this.#flags.until, follow: this.#flags.follow };
    for await (const text of client.post("auth", "Audit/Export", JSON.stringify(request))) {
      await this.#print(JSON.parse(text as string) as Message);
      this.#hasBegun = true;
      this.#failures = 0;
    }
    this.#hasBegun = true;
  }

  async #print({ records, deleted }: Message): Promise<void> {
    const { io } = this.#connection;
    if (deleted !== undefined) {
      const { after, until, time } = deleted;
      const why = `They were older than PORTICO_AUDIT_RETENTION; the last one is of ${time}`;
      io.stderr.write(`Records after ${after} up to ${until} are gone. ${why}\n`);
      this.#after = until;
    }
    for (const record of records) {
      const line = auditLine(record);
      io.stdout.write(io.stdout.isTTY ? visibleLines(line) : line);
      this.#after = record.cursor;
    }
    await drained(io);
  }

  /**
   * Whether the gateway is called again: after the loss of a connection that has worked, and once
   * with a new token, where the one of the login has expired.
   */
  #mayGoOn(error: unknown): boolean {
    if (!this.#flags.follow || !this.#hasBegun || !(error instanceof CommandError)) return false;
    this.#failures += 1;
    if (!(error instanceof CallFailure)) return error.exit === EXIT.failed;
    return error.status >= 500 || error.status === 429 || (error.status === 401 && this.#failures === 1);
  }

  #withPlace(error: unknown): unknown {
    if (this.#after === (this.#flags.after ?? "") || !(error instanceof CommandError)) return error;
    const place = `\nPrinted up to ${this.#after}. To go on: --after=${this.#after}`;
    return error instanceof CallFailure ? error.with(place) : new CommandError(error.message + place, error.exit);
  }
}
