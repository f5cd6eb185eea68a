/**
 * Structured logs: one JSON object per line, on standard error. Secrets must not be logged at all.
 * As a second safeguard, a member with the name of a secret is replaced.
 */
import { write, writeSync } from "node:fs";
import { type DestinationStream, type Logger, pino } from "pino";
import type { Endpoint } from "./contract/endpoint.js";
import { mayQuoteSecrets } from "./contract/secrets.js";

export type { Logger };

const SECRETS = ["token", "authorization", "password", "secret", "enrolment", "cookie"];

/**
 * Lines are collected up to this time and size, so that no call waits for a write. The rest is
 * written at the exit.
 */
const FLUSH_MS = 100;
const FLUSH_BYTES = 4096;
/**
 * Bytes that may wait for a slow reader of standard error, or for space on its disk; further lines
 * are dropped.
 */
const MAX_UNWRITTEN_BYTES = 16 * 1024 ** 2;
/** Maximum time that an exit waits for a slow reader, and between two attempts, in milliseconds. */
const EXIT_MS = 1_000;
const RETRY_MS = 10;

/** The file descriptor of standard error. */
const STDERR = 2;

/** @param level such as `info`; `silent` turns logs off */
export function createLog(level: string, to: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: Object.fromEntries(SECRETS.map((name) => [name, () => "[secret]"])),
    },
    to,
  );
}

/**
 * What was thrown, in a form that may be logged. If its message may quote a secret, only its type
 * and its stack remain.
 */
export function loggable(thrown: unknown, endpoint: Endpoint | undefined): unknown {
  return endpoint !== undefined && mayQuoteSecrets(endpoint) ? withoutMessage(thrown) : thrown;
}

/** Logs that an endpoint of this process failed. */
export function logFailure(
  log: Logger,
  { name, endpoint }: { readonly name: string; readonly endpoint: Endpoint | undefined },
  thrown: unknown,
  what: string,
): void {
  log.error({ err: loggable(thrown, endpoint), endpoint: name }, what);
}

function withoutMessage(thrown: unknown): Error {
  const type = thrown instanceof Error ? thrown.constructor.name : typeof thrown;
  const shown = new Error(`${type}; its message is not logged, because the request has secret fields`);
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  shown.stack = stack
    .split("\n")
    .filter((line) => /^ +at /.test(line))
    .join("\n");
  return shown;
}

/**
 * Writes lines to standard error. If they cannot be written, for example on a full disk, the
 * process continues. Lines wait until they can be written. An exit drops them instead of waiting,
 * which pino's own destination does: it would try for ever.
 */
class StandardError implements DestinationStream {
  #lines = "";
  /** What was taken from the lines and is not written yet. */
  #taken: Buffer = Buffer.alloc(0);
  #isWriting = false;
  /** Whether the next attempt must wait: the last one failed. */
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    process.on("exit", () => this.#writeLast());
  }

  write(line: string): void {
    if (this.#taken.length + this.#lines.length + line.length > MAX_UNWRITTEN_BYTES) return;
    this.#lines += line;
    if (this.#lines.length >= FLUSH_BYTES && !this.#hasFailed) this.#flush();
    else this.#flushLater();
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, FLUSH_MS).unref();
  }

  #flush(): void {
    if (this.#isWriting) return;
    if (this.#taken.length === 0) {
      this.#taken = Buffer.from(this.#lines);
      this.#lines = "";
    }
    if (this.#taken.length === 0) return;
    this.#isWriting = true;
    write(STDERR, this.#taken, (error, written) => {
      this.#isWriting = false;
      this.#hasFailed = error !== null;
      if (error === null) this.#taken = this.#taken.subarray(written);
      if (this.#taken.length + this.#lines.length > 0) this.#flushLater();
    });
  }

  /** Writes at the exit what is left. A running write ends by itself. */
  #writeLast(): void {
    const lines = Buffer.from(this.#lines);
    let bytes = this.#isWriting ? lines : Buffer.concat([this.#taken, lines]);
    const end = performance.now() + EXIT_MS;
    while (bytes.length > 0) {
      try {
        bytes = bytes.subarray(writeSync(STDERR, bytes));
      } catch (error) {
        const isSlow = (error as NodeJS.ErrnoException).code === "EAGAIN";
        if (!isSlow || performance.now() > end) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }
}

let shared: StandardError | undefined;

/** One for all logs of the process, so that their lines are in order. */
function standardError(): StandardError {
  shared ??= new StandardError();
  return shared;
}
