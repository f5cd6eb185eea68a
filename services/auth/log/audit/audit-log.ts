/**
 * Writes the audit trails of all namespaces as lines of JSON to a file or to standard output
 * (PORTICO_AUDIT_LOG), in the order of revisions. Changes never wait for it. What cannot be written
 * stays in the trail, and is written later.
 *
 * The store has one cursor: the last revision whose lines are written. It is moved after the lines
 * are on disk. So no line is missing after a crash. The lines of the last batch may come twice,
 * where the end of the file does not show that they are there. Of several authorities on the store
 * one writes at a time. It has the claim, which ends by itself:
 *
 *     log/cursor   the revision
 *     log/claim    the ID of the authority that writes
 */
import type { Logger } from "pino";
import { auditLine } from "../../../../src/api/audit-line.js";
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import { type Collection, collectionOf } from "../../../../src/store/collection.js";
import { type KeyValueStore, type StoredWrite, StoreError } from "../../../../src/store/store.js";
import { timestampMs } from "../../../../src/time.js";
import type { Journal } from "../changelog/journal.js";
import { keyOf } from "../changelog/row.js";
import { MergedTrails } from "./audit-merge.js";
import type { AuditOutput } from "./audit-output.js";

const CURSOR = "log/cursor";
const CLAIM = "audit/log/claim";
/** How long the claim counts, in milliseconds: longer than a batch takes. */
const CLAIM_MS = 30_000;
/** The pause after a failure, and until an authority without the claim tries again. */
const RETRY_MS = 5_000;

interface Options {
  readonly output: AuditOutput;
  readonly journal: Journal;
  readonly store: KeyValueStore;
  /** Identifies this authority; empty for the only one. */
  readonly id: string;
  readonly log: Logger;
  /** The pause after a failure, in milliseconds; default 5 s. */
  readonly retryMs?: number;
}

/** Runs from `open` until `close`. */
export class AuditLog {
  readonly #options: Options;
  readonly #rows: Collection;
  readonly #trails: MergedTrails;
  #unfollow: () => void = () => undefined;
  #wake: () => void = () => undefined;
  #isDue = true;
  #running: Promise<void> = Promise.resolve();
  #isClosing = false;
  #failure: string | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#rows = collectionOf(options.store, "audit");
    this.#trails = new MergedTrails(options.journal.audit);
  }

  /** A message for the operator if lines cannot be written; otherwise undefined. */
  get error(): string | undefined {
    if (this.#failure === undefined) return undefined;
    return (
      `records of the audit trail wait to be written to PORTICO_AUDIT_LOG: ${this.#failure}. Changes go on, and the ` +
      "records are written as soon as they can be"
    );
  }

  open(): this {
    const due = (): void => {
      this.#isDue = true;
      this.#wake();
    };
    this.#unfollow = this.#options.journal.follow({
      changed: (_revision, _changes, records) => {
        this.#trails.add(records);
        due();
      },
      replaced: () => {
        this.#trails.addAll();
        due();
      },
    });
    this.#running = this.#run();
    return this;
  }

  /** Ends after the batch that is being written. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#unfollow();
    this.#wake();
    await this.#running;
    await this.#giveUpClaim();
    await this.#options.output.close();
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      this.#isDue = false;
      const pauseMs = await this.#step();
      if (!this.#isDue || pauseMs === this.#retryMs) await this.#pause(pauseMs);
    }
  }

  get #retryMs(): number {
    return this.#options.retryMs ?? RETRY_MS;
  }

  /** @param ms undefined until the next change. After a failure, changes do not end the pause. */
  #pause(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#wake = () => {
        if (ms !== undefined && !this.#isClosing) return;
        clearTimeout(timer);
        resolve();
      };
      if (this.#isClosing) this.#wake();
    });
  }

  /** Writes a batch. Returns how long to wait for the next one; undefined until the next change. */
  async #step(): Promise<number | undefined> {
    const { journal, log, output } = this.#options;
    const unread = this.#trails.take();
    // In the same turn: every record up to this revision is in one of the trails that were taken.
    const head = journal.state.revision;
    if (unread.trails?.size === 0) return undefined;
    try {
      const hasClaim = await this.#claim(head);
      const after = Number((await this.#rows.get(CURSOR)) ?? 0);
      if (after >= head || !hasClaim) {
        this.#failure = undefined;
        if (after >= head) return undefined;
        this.#trails.giveBack(unread);
        return this.#retryMs;
      }
      const { records, revision, deletions } = await this.#trails.read(unread, after, head);
      for (const [trail, { cursor }] of deletions)
        log.warn({ trail, cursor }, "audit records up to this one were deleted before they could be written");
      if (records.length > 0) await output.write(records.map(lineOf));
      await this.#moveCursor(after, revision);
      if (this.#failure !== undefined) log.info({ to: output.name }, "audit records are written again");
      this.#failure = undefined;
      if (revision === head) return undefined;
      this.#trails.giveBack(unread);
      return 0;
    } catch (error) {
      this.#trails.giveBack(unread);
      // If this lasts for days, records are deleted for their age. Reading all trails finds out.
      this.#trails.addAll();
      if (this.#failure === undefined) log.error({ err: error, to: output.name }, "audit records cannot be written");
      this.#failure = reasonOf(error);
      await this.#giveUpClaim();
      return this.#retryMs;
    }
  }

  /**
   * Takes or extends the claim. The commit also proves that the store has the log up to `head`: a
   * server that has this commit serves the reads after it (KeyValueStore.mayBeStale).
   */
  async #claim(head: number): Promise<boolean> {
    const { store, id } = this.#options;
    // The store has no other authority, and no other server.
    if (!store.mayBeStale) return true;
    const hasLog: StoredWrite = { kind: "check", key: `log/${keyOf(head)}`, condition: "present" };
    for (const condition of [{ value: id }, "absent"] as const) {
      const claim: StoredWrite = { kind: "set", key: CLAIM, value: id, expires: Date.now() + CLAIM_MS, condition };
      if ((await store.commit([hasLog, claim])).committed) return true;
    }
    return false;
  }

  /** @throws {Error} when another authority has taken the claim, and moves the cursor itself */
  async #moveCursor(after: number, revision: number): Promise<void> {
    const { store, id } = this.#options;
    const claim: StoredWrite[] = store.mayBeStale ? [{ kind: "check", key: CLAIM, condition: { value: id } }] : [];
    const condition = after === 0 ? "absent" : { value: String(after) };
    const cursor: StoredWrite = {
      ...{ kind: "set", key: `audit/${CURSOR}`, value: String(revision), expires: undefined, condition },
    };
    // A crash of the machine may restore the earlier cursor: then the lines come again.
    const { committed } = await store.commit([...claim, cursor], { durable: false });
    if (!committed) throw new Error("another authority writes them");
  }

  async #giveUpClaim(): Promise<void> {
    const { store, id } = this.#options;
    if (!store.mayBeStale) return;
    await store.commit([{ kind: "delete", key: CLAIM, condition: { value: id } }]).catch(() => undefined);
  }
}

/** Without the name of a file or a store, which only the log has. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreError) return "the store fails";
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

/** The line of a record, as every export writes it. */
function lineOf({ revision, time, ...record }: AuditRecord): string {
  return auditLine({ ...record, revision: String(revision), time: new Date(timestampMs(time)).toISOString() });
}
