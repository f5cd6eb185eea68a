/** For how long a client is held back that was refused in an overload. */

/** At most, and half of it at least, in milliseconds. With the longest wait beside it, the client is answered within a second. */
const HOLD_MS = 600;

/**
 * In milliseconds. By chance, because those that are refused together must not come back together.
 * @param maxMs default `HOLD_MS`
 */
export function timeOfHold(maxMs = HOLD_MS): number {
  return maxMs * (0.5 + Math.random() / 2);
}
