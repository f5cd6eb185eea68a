/**
 * Structured logs: one JSON object a line, on standard error. Nothing secret may be logged in the first place; should
 * it happen all the same, members with a secret's name are blanked.
 */
import { type DestinationStream, destination, type Logger, pino } from "pino";

export type { Logger };

const SECRETS = ["token", "authorization", "password", "secret", "enrolment", "cookie"];

/** Lines are collected for up to this long, so that a call does not wait for a write. Exit flushes. */
const FLUSH_MS = 100;
const FLUSH_BYTES = 4096;

/** @param level `info` for instance; `silent` turns logs off. */
export function createLog(level: string, to: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: "[secret]" },
    },
    to,
  );
}

function standardError(): DestinationStream {
  return destination({ fd: 2, sync: false, minLength: FLUSH_BYTES, periodicFlush: FLUSH_MS });
}
