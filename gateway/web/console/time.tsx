/**
 * Dates, as the visitor's browser formats them, and relative times in English, the language of the
 * page.
 */
import { gatewayTime } from "../http.js";

const DAY_MS = 86_400_000;
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: readonly [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ["year", 365 * DAY_MS],
  ["month", 30 * DAY_MS],
  ["day", DAY_MS],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/**
 * @param at a timestamp in proto3 JSON
 * @param relative shows a text such as `3 days ago` instead of the date
 */
export function Moment({ at, relative = false }: { readonly at: string; readonly relative?: boolean }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={EXACT.format(date)}>
      {relative ? fromNow(date) : MOMENT.format(date)}
    </time>
  );
}

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

/** `14:02`, or the date if that is another day. */
export function sinceWhen(at: string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(gatewayTime()).toDateString();
  return (isToday ? TIME : DATE).format(date);
}

/** `3 days ago`, `in 2 hours`. */
export function fromNow(date: Date): string {
  const ms = date.getTime() - gatewayTime();
  for (const [unit, length] of UNITS) {
    if (Math.abs(ms) >= length) return RELATIVE.format(Math.trunc(ms / length), unit);
  }
  return ms > 0 ? "in less than a minute" : "just now";
}

/** Days from now, with a fraction. */
export function daysUntil(at: string): number {
  return (Date.parse(at) - gatewayTime()) / DAY_MS;
}

/** A duration in proto3 JSON: `86400s`. */
export function daysToDuration(days: number): string {
  return `${Math.round(days * 86_400)}s`;
}
