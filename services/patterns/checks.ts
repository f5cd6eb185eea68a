/**
 * The checks of request fields that several services of the catalogue make. A check that fails throws INVALID_ARGUMENT; the
 * message begins with the field, by its name in JSON.
 *
 * This room knows no database.
 */
import { type Call, durationMs, invalidArgument, unauthenticated } from "../../src/kit/index.js";

/** What lists, tables, topics, wallets and links are called. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that are refused.
const CONTROL = /[\x00-\x1f\x7f]/;
/**
 * Characters that are not seen, or change how others are: controls (Cc), formats such as those of direction and width zero (Cf),
 * separators of lines and paragraphs, and what is no character. In an address they make it look like another one.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/** A span that a number must be in; `absent` stands for 0. */
export interface Span {
  readonly min: number;
  readonly max: number;
  readonly absent: number;
}

/** How many entries a page has. */
export const PAGE: Span = { min: 1, max: 1000, absent: 100 };

/** A number of a request: `absent` for 0, which is what a field has that was not sent. */
export function checkNumber(field: string, value: number, { min, max, absent }: Span): number {
  if (value === 0) return absent;
  if (value < min || value > max) throw invalidArgument(`${field}: must be from ${min} to ${max}, got ${value}`);
  return value;
}

/** A name: letters, digits and `.`, `_`, `-`, at most 64. */
export function checkName(field: string, value: string): void {
  if (NAME.test(value)) return;
  throw invalidArgument(`${field}: must have 1 to 64 letters, digits or . _ -, and begin with a letter or digit`);
}

/** The name after which a page begins; undefined for the first page. */
export function checkAfter(after: string): string | undefined {
  if (after !== "") checkName("after", after);
  return after || undefined;
}

/** A text of `min` to `max` characters (code points). */
export function checkText(field: string, value: string, { min, max }: { min: number; max: number }): void {
  if (value.length >= min && (value.length <= max || (value.length <= 2 * max && [...value].length <= max))) return;
  throw invalidArgument(`${field}: must have ${min === 0 ? "at most" : `${min} to`} ${max} characters`);
}

/** A text of `min` to `max` bytes in UTF-8. */
export function checkBytes(field: string, value: string, { min, max }: { min: number; max: number }): void {
  const bytes = Buffer.byteLength(value);
  if (bytes >= min && bytes <= max) return;
  throw invalidArgument(
    `${field}: must have ${min === 0 ? "at most" : `${min} to`} ${max} bytes in UTF-8, has ${bytes}`,
  );
}

/** A text without control characters, such as a key. */
export function checkPrintable(field: string, value: string): void {
  if (CONTROL.test(value)) throw invalidArgument(`${field}: must not have control characters`);
}

/** A text in which every character is seen, such as an address that people read before they follow it. */
export function checkSeen(field: string, value: string): void {
  const found = UNSEEN.exec(value)?.[0].codePointAt(0);
  if (found === undefined) return;
  const name = found.toString(16).toUpperCase().padStart(4, "0");
  throw invalidArgument(`${field}: must not have control or invisible characters, has U+${name}: percent-encode it`);
}

/** A duration of a request in milliseconds. `span` is in milliseconds too; `absent` stands for a field that was not sent. */
export function checkDuration(field: string, value: Parameters<typeof durationMs>[0] | undefined, span: Span): number {
  if (value === undefined) return span.absent;
  const ms = durationMs(value);
  if (ms >= span.min && ms <= span.max) return ms;
  throw invalidArgument(`${field}: must be from ${span.min / 1000} s to ${span.max / 1000} s, got ${ms / 1000} s`);
}

/**
 * The account that calls. A service that calls for itself is like an account of its own.
 * @param owned what belongs to accounts, `Notes`
 * @throws {StatusError} UNAUTHENTICATED when nobody is logged in
 */
export function accountOf({ caller }: Call, owned: string): string {
  if (caller === undefined) throw unauthenticated(`${owned} belong to an account: call with a token`);
  // No account's name has a colon.
  return caller.account || `service:${caller.enrolment}`;
}
