/**
 * Reads and writes google.protobuf.Timestamp (RFC 3339) and google.protobuf.Duration (`1.5s`). Has
 * the Gregorian calendar.
 */
import { COLON, DIGIT_0, DIGIT_9, DOT, LOWER_S, MINUS, PLUS, QUOTE, UPPER_T, UPPER_Z } from "./bytes.js";
import type { Scanner } from "./read/scanner.js";
import type { WireWriter } from "./read/wire-writer.js";
import { tagOf, VARINT } from "./types.js";
import type { TextWriter } from "./write/text-writer.js";
import { checked, truncated, type WireReader } from "./write/wire-reader.js";

const SECONDS_TAG = tagOf(1, VARINT);
const NANOS_TAG = tagOf(2, VARINT);

const TIMESTAMP = 'a time from 0001 to 9999 such as "2006-01-02T15:04:05.5Z"';
const DURATION = 'a duration of at most 315576000000 seconds such as "1.5s"';

/** The separators of "2006-01-02T15:04:05". Every timestamp begins with this form. */
const SEPARATORS = [
  [4, MINUS],
  [7, MINUS],
  [10, UPPER_T],
  [13, COLON],
  [16, COLON],
] as const;

export function readTimestamp(s: Scanner, w: WireWriter): void {
  const at = s.pos;
  s.readText(TIMESTAMP);
  const { text, textStart, textEnd } = s;
  if (textEnd - textStart < 20) throw s.unexpected(TIMESTAMP, at);
  for (const [offset, byte] of SEPARATORS) if (text[textStart + offset] !== byte) throw s.unexpected(TIMESTAMP, at);

  const year = digits(text, textStart, 4);
  const month = digits(text, textStart + 5, 2);
  const day = digits(text, textStart + 8, 2);
  const hour = digits(text, textStart + 11, 2);
  const minute = digits(text, textStart + 14, 2);
  const second = digits(text, textStart + 17, 2);
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)))
    throw s.unexpected(TIMESTAMP, at);
  if (!(isWithin(hour, 23) && isWithin(minute, 59) && isWithin(second, 59))) throw s.unexpected(TIMESTAMP, at);

  const fractionEnd = endOfFraction(text, textStart + 19, textEnd);
  const nanos = nanosOf(text, textStart + 19, fractionEnd);
  const offset = zoneOffset(text, fractionEnd, textEnd);
  if (nanos < 0 || Number.isNaN(offset)) throw s.unexpected(TIMESTAMP, at);
  const seconds = daysSinceEpoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) throw s.unexpected(TIMESTAMP, at);
  writeSecondsAndNanos(w, seconds, nanos);
}

function isWithin(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

/** The offset in seconds ahead of UTC, or NaN when it is not valid in RFC 3339. */
function zoneOffset(text: Uint8Array, start: number, end: number): number {
  const sign = text[start];
  if (sign === UPPER_Z && end === start + 1) return 0;
  if ((sign !== PLUS && sign !== MINUS) || end !== start + 6 || text[start + 3] !== COLON) return Number.NaN;
  const hour = digits(text, start + 1, 2);
  const minute = digits(text, start + 4, 2);
  if (!isWithin(hour, 23) || !isWithin(minute, 59)) return Number.NaN;
  return (hour * 3600 + minute * 60) * (sign === MINUS ? -1 : 1);
}

export function readDuration(s: Scanner, w: WireWriter): void {
  const at = s.pos;
  s.readText(DURATION);
  const { text, textEnd } = s;
  const negative = text[s.textStart] === MINUS;
  const start = negative ? s.textStart + 1 : s.textStart;
  const end = endOfDigits(text, start, textEnd);
  const fractionEnd = endOfFraction(text, end, textEnd);
  const nanos = nanosOf(text, end, fractionEnd);
  // Twelve digits are enough for any duration. More than fifteen would not be exact.
  const seconds = end > start && end - start <= 12 ? digits(text, start, end - start) : Number.NaN;
  const ends = fractionEnd === textEnd - 1 && text[fractionEnd] === LOWER_S;
  if (!ends || nanos < 0 || !(seconds <= MAX_DURATION_SECONDS)) throw s.unexpected(DURATION, at);
  writeSecondsAndNanos(w, negative ? -seconds : seconds, negative ? -nanos : nanos);
}

/** The value of `count` digits, or -1 when one is not a digit. */
function digits(text: Uint8Array, start: number, count: number): number {
  let value = 0;
  for (let at = start; at < start + count; at++) {
    const byte = text[at]!;
    if (!(byte >= DIGIT_0 && byte <= DIGIT_9)) return -1;
    value = value * 10 + (byte - DIGIT_0);
  }
  return value;
}

function endOfDigits(text: Uint8Array, at: number, end: number): number {
  while (at < end && text[at]! >= DIGIT_0 && text[at]! <= DIGIT_9) at++;
  return at;
}

/** The end of a fraction with its point, or `at` if there is none. */
function endOfFraction(text: Uint8Array, at: number, end: number): number {
  return at < end && text[at] === DOT ? endOfDigits(text, at + 1, end) : at;
}

/** A fraction with its point, in nanoseconds, or -1 when it does not have 1 to 9 digits. */
function nanosOf(text: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const count = end - start - 1;
  return count < 1 || count > 9 ? -1 : digits(text, start + 1, count) * 10 ** (9 - count);
}

function writeSecondsAndNanos(w: WireWriter, seconds: number, nanos: number): void {
  if (seconds !== 0) {
    w.varint32(SECONDS_TAG);
    w.varint64(seconds | 0, Math.floor(seconds / 0x100000000) | 0);
  }
  if (nanos !== 0) {
    w.varint32(NANOS_TAG);
    w.varint64(nanos, nanos >> 31);
  }
}

/**
 * Reads the seconds and nanoseconds of the message from the cursor to `end`. Seconds beyond 2^53
 * are not exact, but they are out of range anyway.
 */
function secondsAndNanos(r: WireReader, end: number): [seconds: number, nanos: number] {
  let seconds = 0;
  let nanos = 0;
  while (r.pos < end) {
    const tag = checked(r.tag());
    if (tag === SECONDS_TAG) {
      r.varint64();
      seconds = r.high * 0x100000000 + (r.low >>> 0);
    } else if (tag === NANOS_TAG) nanos = r.varint32();
    else r.skip(tag);
  }
  if (r.pos !== end) throw truncated();
  return [seconds, nanos];
}

export function writeTimestamp(r: WireReader, out: TextWriter, end: number): void {
  const [seconds, nanos] = secondsAndNanos(r, end);
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0 || nanos > 999_999_999) {
    throw new Error("a google.protobuf.Timestamp is not between the years 1 and 9999");
  }
  const days = Math.floor(seconds / 86400);
  const time = seconds - days * 86400;
  const { year, month, day } = dateOf(days);
  const hour = Math.floor(time / 3600);
  out.byte(QUOTE);
  out.padded(year, 4);
  out.byte(MINUS);
  out.padded(month, 2);
  out.byte(MINUS);
  out.padded(day, 2);
  out.byte(UPPER_T);
  out.padded(hour, 2);
  out.byte(COLON);
  out.padded(Math.floor(time / 60) - hour * 60, 2);
  out.byte(COLON);
  out.padded(time % 60, 2);
  fraction(nanos, out);
  out.byte(UPPER_Z);
  out.byte(QUOTE);
}

export function writeDuration(r: WireReader, out: TextWriter, end: number): void {
  const [seconds, nanos] = secondsAndNanos(r, end);
  const sameSign = seconds === 0 || nanos === 0 || seconds < 0 === nanos < 0;
  if (Math.abs(seconds) > MAX_DURATION_SECONDS || Math.abs(nanos) > 999_999_999 || !sameSign) {
    throw new Error("a google.protobuf.Duration is out of range, or its seconds and nanos differ in sign");
  }
  out.byte(QUOTE);
  if (seconds < 0 || nanos < 0) out.byte(MINUS);
  out.double(Math.abs(seconds));
  fraction(Math.abs(nanos), out);
  out.byte(LOWER_S);
  out.byte(QUOTE);
}

/** Writes nanoseconds with 3, 6 or 9 digits after a point. Writes nothing for 0. */
function fraction(nanos: number, out: TextWriter): void {
  if (nanos === 0) return;
  out.byte(DOT);
  if (nanos % 1_000_000 === 0) out.padded(nanos / 1_000_000, 3);
  else if (nanos % 1000 === 0) out.padded(nanos / 1000, 6);
  else out.padded(nanos, 9);
}

/** The years that RFC 3339 can write, 1 to 9999, in seconds since 1970. */
const MIN_SECONDS = -62135596800; // 0001-01-01T00:00:00Z
const MAX_SECONDS = 253402300799; // 9999-12-31T23:59:59Z

/** google.protobuf.Duration: 10,000 years. */
const MAX_DURATION_SECONDS = 315576000000;

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const CYCLE = 146097; // days in 400 years
/** 0000-03-01 to 1970-01-01. A year begins in March here, so that the leap day is its last day. */
const EPOCH = 719468;

function daysInMonth(year: number, month: number): number {
  return month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : DAYS[month - 1]!;
}

/** Days since 1970-01-01 (http://howardhinnant.github.io/date_algorithms.html, days_from_civil). */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const cycle = Math.floor(shifted / 400);
  const yearOfCycle = shifted - cycle * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100);
  return cycle * CYCLE + yearOfCycle * 365 + leapDays + dayOfYear - EPOCH;
}

/** The date of a day counted from 1970-01-01. The date must not be before the year 0. */
function dateOf(day: number): { year: number; month: number; day: number } {
  const shifted = day + EPOCH;
  const cycle = Math.floor(shifted / CYCLE);
  const dayOfCycle = shifted - cycle * CYCLE;
  const yearOfCycle = Math.floor(
    (dayOfCycle - Math.floor(dayOfCycle / 1460) + Math.floor(dayOfCycle / 36524) - Math.floor(dayOfCycle / 146096)) /
      365,
  );
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  return {
    year: yearOfCycle + cycle * 400 + (month >= 10 ? 1 : 0),
    month: month < 10 ? month + 3 : month - 9,
    day: dayOfYear - Math.floor((153 * month + 2) / 5) + 1,
  };
}
