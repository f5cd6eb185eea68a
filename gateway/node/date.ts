/** The header Date of responses. */

let second = 0;
let date = "";

/**
 * The value of the header Date (RFC 9110 §6.6.1). It changes once a second, so its text is made
 * that often, also after the clock was set back.
 * @param now in milliseconds since 1970
 */
export function dateOf(now: number): string {
  const current = Math.floor(now / 1000);
  if (current !== second) {
    second = current;
    date = new Date(now).toUTCString();
  }
  return date;
}
