/**
 * Parses decimal numbers without losing a digit. An int64 does not fit in a JavaScript number, and
 * may be written as `1.0` or `1e3`. The cost is linear in the length of the text, for any exponent.
 */
import { Buffer } from "node:buffer";
import { DIGIT_0, DIGIT_9, DOT, LOWER_E, MINUS, PLUS, UPPER_E } from "../bytes.js";

/** A number with at most this many digits is exact as a double. */
export const EXACT_DIGITS = 15;
/** 10^0 to 10^22: the powers of ten that are exact as doubles. */
export const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const MAX_UINT64_DIGITS = 20;

export class Decimal {
  /** The two's complement halves of the integer that `toInt64` or `toUint64` returned true for. */
  low = 0;
  high = 0;
  /** Whether the number has neither fraction nor exponent. */
  plain = true;

  #src: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #negative = false;
  /**
   * The digits without the point, as a number. Exact when there are at most EXACT_DIGITS of them.
   */
  #mantissa = 0;
  #digits = 0;
  /** The exponent of ten of `#mantissa`. */
  #scale = 0;

  /**
   * Parses the number at `pos`, which ends at `end` at the latest.
   * @returns the offset after it, or -1 when there is no JSON number (RFC 8259 §6)
   */
  scan(src: Buffer, pos: number, end: number): number {
    this.#src = src;
    this.#start = pos;
    this.#negative = src[pos] === MINUS;
    if (this.#negative) pos++;
    const first = pos;
    this.#mantissa = 0;
    pos = this.#scanDigits(pos, end);
    if (pos === first || (src[first] === DIGIT_0 && pos > first + 1)) return -1;
    this.#digits = pos - first;
    this.#scale = 0;
    this.plain = true;
    if (pos < end && src[pos] === DOT) {
      const point = pos++;
      pos = this.#scanDigits(pos, end);
      const decimals = pos - point - 1;
      if (decimals === 0) return -1;
      this.plain = false;
      this.#digits += decimals;
      this.#scale = -decimals;
    }
    if (pos < end && (src[pos] === LOWER_E || src[pos] === UPPER_E)) {
      this.plain = false;
      pos = this.#scanExponent(pos + 1, end);
    }
    this.#end = pos;
    return pos;
  }

  #scanDigits(pos: number, end: number): number {
    const src = this.#src;
    let mantissa = this.#mantissa;
    while (pos < end) {
      const byte = src[pos]!;
      if (byte < DIGIT_0 || byte > DIGIT_9) break;
      mantissa = mantissa * 10 + (byte - DIGIT_0);
      pos++;
    }
    this.#mantissa = mantissa;
    return pos;
  }

  #scanExponent(pos: number, end: number): number {
    const src = this.#src;
    const negative = src[pos] === MINUS;
    if (negative || src[pos] === PLUS) pos++;
    const first = pos;
    let exponent = 0;
    while (pos < end) {
      const byte = src[pos]!;
      if (byte < DIGIT_0 || byte > DIGIT_9) break;
      // A larger exponent has the same result: no text that fits in memory has enough digits to
      // compensate for it.
      if (exponent < 1e12) exponent = exponent * 10 + (byte - DIGIT_0);
      pos++;
    }
    this.#scale += negative ? -exponent : exponent;
    return pos === first ? -1 : pos;
  }

  /** The nearest double, or infinity when the number is too large. */
  toDouble(): number {
    let magnitude: number;
    if (this.#digits <= EXACT_DIGITS && this.#scale >= -22 && this.#scale <= 22) {
      // One operation on two exact operands is correctly rounded (Clinger, "How to Read Floating
      // Point Numbers Accurately").
      magnitude = this.#scale < 0 ? this.#mantissa / POWERS[-this.#scale]! : this.#mantissa * POWERS[this.#scale]!;
      return this.#negative ? -magnitude : magnitude;
    }
    return Number(this.#src.toString("latin1", this.#start, this.#end));
  }

  /**
   * Whether the number is an integer from -2^63 to 2^63-1. If so, `low` and `high` are its halves.
   */
  toInt64(): boolean {
    if (!this.#toMagnitude()) return false;
    if (!this.#negative) return this.high >= 0;
    const fits = this.high >= 0 || (this.high === -0x80000000 && this.low === 0);
    this.low = -this.low | 0;
    this.high = (~this.high + (this.low === 0 ? 1 : 0)) | 0;
    return fits;
  }

  /** Whether the number is an integer from 0 to 2^64-1. If so, `low` and `high` are its halves. */
  toUint64(): boolean {
    return this.#toMagnitude() && (!this.#negative || (this.low | this.high) === 0);
  }

  /** Whether the number is an integer whose absolute value has at most 64 bits. */
  #toMagnitude(): boolean {
    if (!this.plain) return this.#toMagnitudeOf(this.#integerDigits());
    if (this.#digits <= EXACT_DIGITS) {
      this.low = this.#mantissa | 0;
      this.high = (this.#mantissa / 0x100000000) | 0;
      return true;
    }
    if (this.#digits > MAX_UINT64_DIGITS) return false;
    return this.#toMagnitudeOf(this.#src.toString("latin1", this.#end - this.#digits, this.#end));
  }

  /**
   * All digits of the integer, or undefined when the number is not an integer or has too many
   * digits for 64 bits.
   */
  #integerDigits(): string | undefined {
    const text = this.#src.toString("latin1", this.#start, this.#end);
    const [, whole, fraction = ""] = /^-?(\d+)(?:\.(\d+))?/.exec(text)!;
    const digits = trimZeros(whole! + fraction);
    if (digits.value === "") return "0";
    const scale = this.#scale + digits.trailing;
    if (scale < 0 || digits.value.length + scale > MAX_UINT64_DIGITS) return undefined;
    return digits.value + "0".repeat(scale);
  }

  #toMagnitudeOf(digits: string | undefined): boolean {
    if (digits === undefined) return false;
    // Computed as upper × 10^9 + lower, with at most 11 and 9 digits. Each product is small enough
    // to be exact as a double.
    const upper = Number(digits.slice(0, -9));
    const lower = Number(digits.slice(-9));
    const upperHigh = Math.floor(upper / 0x10000) * 1e9;
    const rest = (upper % 0x10000) * 1e9 + lower + (upperHigh % 0x10000) * 0x10000;
    const high = Math.floor(upperHigh / 0x10000) + Math.floor(rest / 0x100000000);
    this.low = (rest % 0x100000000) | 0;
    this.high = high | 0;
    return high <= 0xffffffff;
  }
}

/** The digits without leading and trailing zeros, and the number of trailing ones. */
function trimZeros(digits: string): { value: string; trailing: number } {
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === DIGIT_0) start++;
  while (end > start && digits.charCodeAt(end - 1) === DIGIT_0) end--;
  return { value: digits.slice(start, end), trailing: digits.length - end };
}
