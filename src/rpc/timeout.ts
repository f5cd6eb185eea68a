/** The grpc-timeout header (PROTOCOL-HTTP2.md, "Timeout"): up to eight digits and a unit, such as `500m`. */

const UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ["m", 1],
  ["S", 1_000],
  ["M", 60_000],
  ["H", 3_600_000],
];

const MILLISECONDS = new Map([...UNITS, ["u", 0.001], ["n", 0.000_001]] as const);

const MAX_VALUE = 99_999_999;
const ZERO = 0x30;

/** Rounds up to a number of at most eight digits, 1 at least: the protocol does not allow `0m`. */
export function formatTimeout(milliseconds: number): string {
  for (const [unit, size] of UNITS) {
    const value = Math.max(Math.ceil(milliseconds / size), 1);
    if (value <= MAX_VALUE) return `${value}${unit}`;
  }
  return `${MAX_VALUE}H`;
}

/** @returns milliseconds; undefined for a text that is not a timeout */
export function parseTimeout(text: string): number | undefined {
  const digits = text.length - 1;
  const size = MILLISECONDS.get(text[digits] ?? "");
  if (size === undefined || digits < 1 || digits > 8) return undefined;
  let value = 0;
  for (let at = 0; at < digits; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return value * size;
}
