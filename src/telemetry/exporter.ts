/**
 * Sends the spans of a process to a collector, in batches and one request at a time. What the
 * collector does not take in time is dropped and counted.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "../log.js";
import { Collector, type CollectorResponse } from "./collector.js";
import { type DropReason, SpanQueue } from "./span-queue.js";
import { readResponse, type Sender, writeRequest } from "./span-writer.js";

/** How often waiting spans are sent, in milliseconds. A full batch is sent at once. */
const INTERVAL_MS = 5_000;
/** How long a request may take, in milliseconds. */
const REQUEST_MS = 10_000;
/** The pause before the first retry, in milliseconds. It doubles with each, up to the maximum. */
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** Maximum pause that a collector may ask for, in milliseconds. */
const MAX_RETRY_AFTER_MS = 600_000;
/** A batch is dropped when it has been tried for this long, in milliseconds. */
const GIVE_UP_MS = 120_000;
/** The time for the last spans when the process stops, in milliseconds. */
const MIN_LAST_MS = 500;
const MAX_LAST_MS = 3_000;
/** How often the log reports problems, in milliseconds. */
const REPORT_MS = 60_000;

/** The statuses after which a request is sent again (OTLP, "Retryable Response Codes"). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export interface ExporterOptions {
  /** The base address of the collector, `http://host:4318`. */
  readonly url: string;
  readonly sender: Sender;
  readonly log: Pick<Logger, "warn">;
  /** These are for tests. */
  readonly intervalMs?: number;
  readonly requestMs?: number;
  readonly retryMs?: number;
  readonly giveUpMs?: number;
}

/** What became of a request. */
type Outcome = "sent" | "rejected" | { readonly retryAfterMs: number | undefined };

export class Exporter {
  readonly queue: SpanQueue;
  readonly #options: Required<Omit<ExporterOptions, "url">>;
  readonly #collector: Collector;
  readonly #timer: NodeJS.Timeout;
  readonly #stopping = new AbortController();
  /** Nothing more may be sent. */
  #hasEnded = false;
  /** Ends the request that is open. */
  #request: AbortController | undefined;
  /** The sending that runs; undefined while none does. */
  #sending: Promise<void> | undefined;
  /** When the log last reported a problem, in milliseconds of `performance.now()`. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** Spans that were dropped since then. */
  #unreported = 0;
  /** Why the last request was not accepted. */
  #problem: string | undefined;

  constructor({ url, ...options }: ExporterOptions) {
    const defaults = { intervalMs: INTERVAL_MS, requestMs: REQUEST_MS, retryMs: RETRY_MS, giveUpMs: GIVE_UP_MS };
    this.#options = { ...defaults, ...options };
    this.#collector = new Collector(url);
    this.queue = new SpanQueue({
      // Not at once: a request is ending.
      onFull: () => setImmediate(() => this.#send()),
      onDrop: (count, reason) => {
        this.#unreported += count;
        this.#report(reason);
      },
    });
    this.#timer = setInterval(() => this.#send(), this.#options.intervalMs).unref();
  }

  /** Sends what waits, once, and drops the rest. */
  async close(drainMs: number): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    const lastMs = Math.min(Math.max(drainMs, MIN_LAST_MS), MAX_LAST_MS);
    const timer = setTimeout(() => {
      this.#hasEnded = true;
      this.#request?.abort();
    }, lastMs);
    await this.#sending;
    this.#send();
    await this.#sending;
    clearTimeout(timer);
    this.#collector.close();
  }

  #send(): void {
    this.#sending ??= this.#sendWaiting().finally(() => {
      this.#sending = undefined;
      if (this.queue.isFull && !this.#stopping.signal.aborted) this.#send();
    });
  }

  /** Sends the spans that wait now. */
  async #sendWaiting(): Promise<void> {
    for (let left = this.queue.size; left > 0; ) {
      const batch = this.queue.take();
      if (batch.length === 0) return;
      left -= batch.length;
      await this.#sendBatch(batch);
    }
  }

  async #sendBatch(batch: readonly Uint8Array[]): Promise<void> {
    const body = writeRequest(this.#options.sender, batch);
    const began = performance.now();
    for (let attempt = 0; ; attempt++) {
      const outcome = this.#hasEnded ? undefined : await this.#post(body, batch.length);
      if (outcome === "sent") return;
      if (outcome === "rejected") return this.queue.drop(batch.length, "rejected");
      if (outcome === undefined || this.#stopping.signal.aborted) return this.queue.drop(batch.length, "unsent");
      await this.#pause(outcome.retryAfterMs ?? this.#retryPause(attempt));
      // Once more at the stop, however long it has been tried.
      const isLast = this.#stopping.signal.aborted;
      if (!isLast && performance.now() - began > this.#options.giveUpMs) return this.queue.drop(batch.length, "unsent");
    }
  }

  /** With a random part, so that processes that lost a collector do not all return at once. */
  #retryPause(attempt: number): number {
    return Math.min(this.#options.retryMs * 2 ** attempt, MAX_RETRY_MS) * (0.8 + 0.4 * Math.random());
  }

  /** Ends early when the process stops. */
  async #pause(ms: number): Promise<void> {
    const signal = this.#stopping.signal;
    await wait(Math.min(ms, MAX_RETRY_AFTER_MS), undefined, { signal, ref: false }).catch(() => undefined);
  }

  async #post(body: Uint8Array, spans: number): Promise<Outcome> {
    const { requestMs } = this.#options;
    const request = new AbortController();
    this.#request = request;
    const timer = setTimeout(() => request.abort(), requestMs);
    try {
      return this.#outcomeOf(await this.#collector.post(body, request.signal), spans);
    } catch (error) {
      this.#problem = request.signal.aborted ? `no response within ${requestMs} ms` : messageOf(error);
    } finally {
      clearTimeout(timer);
      this.#request = undefined;
    }
    this.#report("unsent");
    return { retryAfterMs: undefined };
  }

  #outcomeOf({ status, retryAfterMs, body }: CollectorResponse, spans: number): Outcome {
    if (status === 200) {
      this.#problem = undefined;
      this.#readPartialSuccess(body, spans);
      return "sent";
    }
    this.#problem = `status ${status}`;
    if (!RETRYABLE.has(status)) return "rejected";
    this.#report("unsent");
    return { retryAfterMs };
  }

  /** A collector may accept a request, and reject some of its spans. @param sent their number */
  #readPartialSuccess(body: Uint8Array, sent: number): void {
    try {
      const { rejected, message } = readResponse(body);
      if (message !== "") this.#problem = message.slice(0, MAX_MESSAGE);
      if (rejected > 0) this.queue.drop(Math.min(rejected, sent), "rejected");
    } catch {
      // It has accepted the request all the same.
    }
  }

  /** Logs at most once a minute that spans are dropped, or cannot be sent. */
  #report(reason: DropReason): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    const about = { collector: this.#collector.origin, dropped: this.#unreported, reason, problem: this.#problem };
    this.#options.log.warn(about, "spans are dropped, or cannot be sent to the collector at the moment");
    this.#unreported = 0;
  }
}

/** Maximum characters of a collector's message that are logged. */
const MAX_MESSAGE = 256;

/** The message of an error; of its first one where each address of a name has an error. */
function messageOf(error: unknown): string {
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  return (first as Error).message;
}
