/**
 * Checks of request fields that several services make. A failed check throws INVALID_ARGUMENT. The
 * message begins with the field's name in JSON.
 *
 * This room knows no database.
 */
import { type Call, durationMs, invalidArgument, unauthenticated } from "../../src/kit/index.js";

/** Names of lists, tables, topics, wallets and links. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds them to refuse them.
const CONTROL = /[\x00-\x1f\x7f]/;
/**
 * Characters that are invisible or change how other characters look: controls (Cc), formats such as
 * text direction and zero width (Cf), line and paragraph separators, and code points without a
 * character (unassigned, private use). With such characters a URL could look like another URL.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/** The allowed range of a number. `absent` is the default, which 0 stands for. */
export interface Span {
  readonly min: number;
  readonly max: number;
  readonly absent: number;
}

/** The number of entries in a page. */
export const PAGE: Span = { min: 1, max: 1000, absent: 100 };

/**
 * A number of a request. The result is `absent` for 0, because a field that was not sent has the
 * value 0.
 */
export function checkNumber(field: string, value: number, { min, max, absent }: Span): number {
  if (value === 0) return absent;
  if (value < min || value > max) throw invalidArgument(`${field}: must be from ${min} to ${max}, got ${value}`);
  return value;
}

/** A name: 1 to 64 letters, digits and `.`, `_`, `-`, beginning with a letter or a digit. */
export function checkName(field: string, value: string): void {
  if (NAME.test(value)) return;
  throw invalidArgument(`${field}: must have 1 to 64 letters, digits or . _ -, and begin with a letter or digit`);
}

/** Checks the name after which a page begins. Returns undefined for the first page. */
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

/** A text without invisible characters, such as a URL that people read before they open it. */
export function checkSeen(field: string, value: string): void {
  const found = UNSEEN.exec(value)?.[0].codePointAt(0);
  if (found === undefined) return;
  const name = found.toString(16).toUpperCase().padStart(4, "0");
  throw invalidArgument(`${field}: must not have control or invisible characters, has U+${name}: percent-encode it`);
}

/**
 * A duration of a request in milliseconds. `span` is in milliseconds too; its `absent` is the
 * result for a field that was not sent.
 */
export function checkDuration(field: string, value: Parameters<typeof durationMs>[0] | undefined, span: Span): number {
  if (value === undefined) return span.absent;
  const ms = durationMs(value);
  if (ms >= span.min && ms <= span.max) return ms;
  throw invalidArgument(`${field}: must be from ${span.min / 1000} s to ${span.max / 1000} s, got ${ms / 1000} s`);
}

/**
 * The account of the caller. A service that calls for itself counts as an account.
 * @param owned what belongs to accounts, `Notes`
 * @throws {StatusError} UNAUTHENTICATED if no account is logged in
 */
export function accountOf({ caller }: Call, owned: string): string {
  if (caller === undefined) throw unauthenticated(`${owned} belong to an account: call with a token`);
  // Account names contain no colon, so `service:…` cannot be the name of an account.
  return caller.account || `service:${caller.enrolment}`;
}
