/**
 * Structured logs: one JSON object per line, on standard error. Secrets must not be logged at all.
 * As a second safeguard, a member with the name of a secret is replaced.
 */
import { type DestinationStream, destination, type Logger, pino } from "pino";
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
 * If the log cannot be written, for example on a full disk, the process continues. Lines wait until
 * they can be written, and an exit drops them.
 */
function standardError(): DestinationStream {
  const stream = destination({
    fd: 2,
    sync: false,
    minLength: FLUSH_BYTES,
    periodicFlush: FLUSH_MS,
    maxLength: MAX_UNWRITTEN_BYTES,
  });
  let failed = false;
  stream.on("error", () => {
    failed = true;
  });
  stream.on("write", () => {
    failed = false;
  });
  // At an exit, flushSync would retry until it succeeds.
  const flushSync = stream.flushSync.bind(stream);
  stream.flushSync = () => failed || flushSync();
  return stream;
}
