/** The digits of integers in JSON. */
import { DIGIT_0 } from "../bytes.js";

/** The digits of the numbers from 0 to 99, as two bytes each. */
export const PAIRS = Uint16Array.from(
  { length: 100 },
  (_, value) => DIGIT_0 + Math.floor(value / 10) + ((DIGIT_0 + (value % 10)) << 8),
);

/** How many digits a number from 10 to 10^9 - 1 has. */
export function countDigits(value: number): number {
  if (value < 10_000) return value < 100 ? 2 : value < 1000 ? 3 : 4;
  if (value < 1_000_000) return value < 100_000 ? 5 : 6;
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9;
}
