/** The rates and quotas of limits, as they are written. */
import { printable } from "../contract/resource.js";

/** The longest burst, and the most calls of a rate. An int32. */
export const MAX_RATE = 2 ** 31 - 1;

/** The units of a rate, in seconds. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const UNIT_WORDS: Readonly<Record<string, string>> = { s: "second", m: "minute", h: "hour", d: "day" };

/** A rate: how many calls in how many seconds. */
export interface Rate {
  readonly calls: number;
  readonly seconds: number;
}

/** A quota: how many calls in a day or a month of the calendar, in UTC. */
export interface CalendarQuota {
  readonly calls: number;
  readonly period: "day" | "month";
}

/**
 * Reads a rate such as `100/s`.
 * @throws {SyntaxError} with the accepted forms
 */
export function parseRate(text: string): Rate {
  const [, calls, unit] = /^(\d{1,16})\/([smhd])$/.exec(text) ?? [];
  const rate = { calls: Number(calls), seconds: UNITS[unit ?? ""] ?? 0 };
  if (rate.seconds > 0 && rate.calls >= 1 && rate.calls <= MAX_RATE) return rate;
  throw new SyntaxError(
    `rate "${printable(text)}" must be a whole number from 1 to ${MAX_RATE} and /s, /m, /h or /d, such as 100/s`,
  );
}

/**
 * Reads a quota such as `1000000/month`.
 * @throws {SyntaxError} with the accepted forms
 */
export function parseQuota(text: string): CalendarQuota {
  const [, number, period] = /^(\d{1,16})\/(day|month)$/.exec(text) ?? [];
  const calls = Number(number);
  if ((period === "day" || period === "month") && calls >= 1 && Number.isSafeInteger(calls)) return { calls, period };
  throw new SyntaxError(
    `quota "${printable(text)}" must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER} and /day or /month, ` +
      "such as 1000000/month",
  );
}

/** The burst of a rate where none is given: the calls of one second, at least 1. */
export function defaultBurst({ calls, seconds }: Rate): number {
  return Math.max(1, Math.floor(calls / seconds));
}

/** `defaultBurst` as text; undefined for a rate that is not understood. */
export function usualBurst(rate: string): string | undefined {
  try {
    return `${defaultBurst(parseRate(rate))}`;
  } catch {
    return undefined;
  }
}

/** A checked rate in words: `100 calls a second`. */
export function rateInWords(rate: string): string {
  const [calls, unit = ""] = rate.split("/");
  return `${calls} call${calls === "1" ? "" : "s"} a${unit === "h" ? "n" : ""} ${UNIT_WORDS[unit]}`;
}
