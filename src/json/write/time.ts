/** Writers of google.protobuf.Timestamp (RFC 3339) and google.protobuf.Duration (`1.5s`). */
import { COLON, DOT, LOWER_S, MINUS, QUOTE, UPPER_T, UPPER_Z } from "../bytes.js";
import { dateOf, MAX_DURATION_SECONDS, MAX_SECONDS, MIN_SECONDS } from "../calendar.js";
import { tagOf, VARINT } from "../types.js";
import type { TextWriter } from "./text-writer.js";
import { checked, truncated, type WireReader } from "./wire-reader.js";

const SECONDS_TAG = tagOf(1, VARINT);
const NANOS_TAG = tagOf(2, VARINT);

/** Seconds and nanoseconds of the message from the cursor to `end`. Seconds beyond 2^53 are out of range anyway. */
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

export function timestamp(r: WireReader, out: TextWriter, end: number): void {
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

export function duration(r: WireReader, out: TextWriter, end: number): void {
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

/** Nanoseconds with 3, 6 or 9 digits after a point, or nothing. */
function fraction(nanos: number, out: TextWriter): void {
  if (nanos === 0) return;
  out.byte(DOT);
  if (nanos % 1_000_000 === 0) out.padded(nanos / 1_000_000, 3);
  else if (nanos % 1000 === 0) out.padded(nanos / 1000, 6);
  else out.padded(nanos, 9);
}
