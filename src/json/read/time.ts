/** Readers of google.protobuf.Timestamp (RFC 3339) and google.protobuf.Duration (`1.5s`). */
import { COLON, DIGIT_0, DIGIT_9, DOT, LOWER_S, MINUS, PLUS, UPPER_T, UPPER_Z } from "../bytes.js";
import { daysInMonth, daysSinceEpoch, MAX_DURATION_SECONDS, MAX_SECONDS, MIN_SECONDS } from "../calendar.js";
import { tagOf, VARINT } from "../types.js";
import type { Scanner } from "./scanner.js";
import type { WireWriter } from "./wire-writer.js";

const TIMESTAMP = 'a time from 0001 to 9999 such as "2006-01-02T15:04:05.5Z"';
const DURATION = 'a duration of at most 315576000000 seconds such as "1.5s"';

/** The separators of "2006-01-02T15:04:05", with which every timestamp begins. */
const SEPARATORS = [
  [4, MINUS],
  [7, MINUS],
  [10, UPPER_T],
  [13, COLON],
  [16, COLON],
] as const;

export function timestamp(s: Scanner, w: WireWriter): void {
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

/** The offset in seconds ahead of UTC; NaN when it is not one of RFC 3339. */
function zoneOffset(text: Uint8Array, start: number, end: number): number {
  const sign = text[start];
  if (sign === UPPER_Z && end === start + 1) return 0;
  if ((sign !== PLUS && sign !== MINUS) || end !== start + 6 || text[start + 3] !== COLON) return Number.NaN;
  const hour = digits(text, start + 1, 2);
  const minute = digits(text, start + 4, 2);
  if (!isWithin(hour, 23) || !isWithin(minute, 59)) return Number.NaN;
  return (hour * 3600 + minute * 60) * (sign === MINUS ? -1 : 1);
}

export function duration(s: Scanner, w: WireWriter): void {
  const at = s.pos;
  s.readText(DURATION);
  const { text, textEnd } = s;
  const negative = text[s.textStart] === MINUS;
  const start = negative ? s.textStart + 1 : s.textStart;
  const end = endOfDigits(text, start, textEnd);
  const fractionEnd = endOfFraction(text, end, textEnd);
  const nanos = nanosOf(text, end, fractionEnd);
  // Twelve digits are enough for any duration; more than fifteen would not be exact.
  const seconds = end > start && end - start <= 12 ? digits(text, start, end - start) : Number.NaN;
  const ends = fractionEnd === textEnd - 1 && text[fractionEnd] === LOWER_S;
  if (!ends || nanos < 0 || !(seconds <= MAX_DURATION_SECONDS)) throw s.unexpected(DURATION, at);
  writeSecondsAndNanos(w, negative ? -seconds : seconds, negative ? -nanos : nanos);
}

/** The value of `count` digits; -1 when one is not a digit. */
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

/** The end of a fraction with its point, if there is one. */
function endOfFraction(text: Uint8Array, at: number, end: number): number {
  return at < end && text[at] === DOT ? endOfDigits(text, at + 1, end) : at;
}

/** A fraction with its point, in nanoseconds; -1 when it does not have 1 to 9 digits. */
function nanosOf(text: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const count = end - start - 1;
  return count < 1 || count > 9 ? -1 : digits(text, start + 1, count) * 10 ** (9 - count);
}

const SECONDS_TAG = tagOf(1, VARINT);
const NANOS_TAG = tagOf(2, VARINT);

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
