/**
 * A request as JSON text. It is checked while it is typed, and read without rounding integers that
 * JavaScript cannot represent.
 */
import { layOut } from "../../../src/api/json-layout.js";

/**
 * The value of a JSON text. Integers that JavaScript cannot represent become strings, as in proto3
 * JSON.
 * @throws {SyntaxError}
 */
export function parseExact(text: string): unknown {
  const exact = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? context?.source
      : value;
  return JSON.parse(text, exact);
}

/**
 * Whether JSON.parse passes the source text of numbers, as browsers do since 2023. Without it large
 * integers are rounded.
 */
export const READS_EXACTLY =
  JSON.parse("1", (_key, _value, context?: { readonly source?: string }) => context?.source) === "1";

/** Names a number that this browser would round; undefined if there is none. */
export function roundingError(text: string): string | undefined {
  if (READS_EXACTLY) return undefined;
  const rounded = layOut(text).find(
    (token) => token.kind === "number" && /^-?\d+$/.test(token.text) && !Number.isSafeInteger(Number(token.text)),
  );
  return rounded && `This browser would round ${rounded.text}. Put it in quotes, which means the same.`;
}

/** Why a text is not a JSON object; undefined if it is one. */
export function errorOf(text: string): string | undefined {
  const error = syntaxErrorOf(text);
  if (error !== undefined) return error;
  const value: unknown = JSON.parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? undefined : "A request is a JSON object: { … }";
}

/** Why a text is not JSON; undefined if it is. */
export function syntaxErrorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}`;
  }
}

/** A text in the form that is not JSON yet. */
export class Unfinished {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A value as JSON text. Unfinished text in it stays as it is, so that the page shows what would be
 * sent.
 */
export function textWith(value: unknown): string {
  const unfinished: string[] = [];
  // Random, so that no text that a visitor typed contains it.
  const mark = `unfinished ${Math.random()} `;
  const marked = (_key: string, member: unknown) =>
    member instanceof Unfinished ? `${mark}${unfinished.push(member.text) - 1}` : member;
  const text = JSON.stringify(value, marked, 2);
  return unfinished.reduce((text, one, index) => text.replace(`"${mark}${index}"`, () => one), text);
}
