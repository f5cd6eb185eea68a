/**
 * Takes numbers apart as they are written, so that none loses a digit on the way: JSON knows no bounds, and an int64
 * does not fit in a JavaScript number. An integer may be written with a fraction or an exponent (`1.0`, `1e3`) as long
 * as it is one.
 *
 * Costs are linear in the length of the text, whatever the exponent says.
 */
import { Buffer } from "node:buffer";
import { DIGIT_0, DIGIT_9, DOT, LOWER_E, MINUS, PLUS, UPPER_E } from "../ascii.js";

/** Up to this many digits make a number that is exact as a double. */
export const EXACT_DIGITS = 15;
/** 10^0 to 10^22: the powers that are exact as doubles. */
export const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const MAX_UINT64_DIGITS = 20;

export class Decimal {
  /** The two's complement halves that `toInt64` and `toUint64` found. */
  low = 0;
  high = 0;
  /** Whether it has neither fraction nor exponent. */
  plain = true;

  #src: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #negative = false;
  /** The digits without the point, as a number; exact when there are at most EXACT_DIGITS of them. */
  #mantissa = 0;
  #digits = 0;
  /** How far the point is to be moved to the right. */
  #scale = 0;

  /**
   * Takes in the number at `pos`, which may go on to `end` at most.
   * @returns the offset after it, or -1 when what is there is no JSON number (RFC 8259 §6).
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
      // Anything beyond is as good as infinite: no text that fits in memory has the digits to make up for it.
      if (exponent < 1e12) exponent = exponent * 10 + (byte - DIGIT_0);
      pos++;
    }
    this.#scale += negative ? -exponent : exponent;
    return pos === first ? -1 : pos;
  }

  /** The nearest double; infinite when it is too large for one. */
  toDouble(): number {
    let magnitude: number;
    if (this.#digits <= EXACT_DIGITS && this.#scale >= -22 && this.#scale <= 22) {
      // One operation on two exact operands is correctly rounded (Clinger, "How to Read Floating Point Numbers Accurately").
      magnitude = this.#scale < 0 ? this.#mantissa / POWERS[-this.#scale]! : this.#mantissa * POWERS[this.#scale]!;
      return this.#negative ? -magnitude : magnitude;
    }
    return Number(this.#src.toString("latin1", this.#start, this.#end));
  }

  /** Whether it is an integer from -2^63 to 2^63-1, which `low` and `high` then are. */
  toInt64(): boolean {
    if (!this.#toMagnitude()) return false;
    if (!this.#negative) return this.high >= 0;
    const fits = this.high >= 0 || (this.high === -0x80000000 && this.low === 0);
    this.low = -this.low | 0;
    this.high = (~this.high + (this.low === 0 ? 1 : 0)) | 0;
    return fits;
  }

  /** Whether it is an integer from 0 to 2^64-1, which `low` and `high` then are. */
  toUint64(): boolean {
    return this.#toMagnitude() && (!this.#negative || (this.low | this.high) === 0);
  }

  /** Whether it is an integer of at most 64 bits, the sign aside. */
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

  /** All digits of the integer that this is; undefined when it is none, or longer than any that fits. */
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
    // In two parts of at most 11 and 9 digits: upper × 10^9 + lower, multiplied in pieces that a double holds exactly.
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

/** Without the zeros in front and behind, and how many were behind. */
function trimZeros(digits: string): { value: string; trailing: number } {
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === DIGIT_0) start++;
  while (end > start && digits.charCodeAt(end - 1) === DIGIT_0) end--;
  return { value: digits.slice(start, end), trailing: digits.length - end };
}
