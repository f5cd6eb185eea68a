/** JSON as text: read without rounding numbers that JavaScript cannot hold, and checked while it is typed. */
import { layOut } from "../../../src/api/json-layout.js";

/**
 * A JSON text's value, in which integers that JavaScript cannot hold are strings, as protobuf's JSON writes them.
 * @throws {SyntaxError}
 */
export function parseExact(text: string): unknown {
  const exact = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? context?.source
      : value;
  return JSON.parse(text, exact);
}

/** What a number was written as is told by browsers since 2023. Others would round what JavaScript cannot hold. */
export const READS_EXACTLY =
  JSON.parse("1", (_key, _value, context?: { readonly source?: string }) => context?.source) === "1";

/** What a browser that does not read exactly would get wrong; undefined for nothing. */
export function roundingFault(text: string): string | undefined {
  if (READS_EXACTLY) return undefined;
  const rounded = layOut(text).find(
    (token) => token.kind === "number" && /^-?\d+$/.test(token.text) && !Number.isSafeInteger(Number(token.text)),
  );
  return rounded && `This browser would round ${rounded.text}. Put it in quotes, which means the same.`;
}

/** What is wrong with a text that should be a JSON object; undefined for nothing. */
export function faultOf(text: string): string | undefined {
  const fault = syntaxFaultOf(text);
  if (fault !== undefined) return fault;
  const value: unknown = JSON.parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? undefined : "A request is a JSON object: { … }";
}

/** What is wrong with a text that should be JSON; undefined for nothing. */
export function syntaxFaultOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}`;
  }
}

/** What was typed where JSON belongs, while it is none. */
export class Unfinished {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value as JSON text. What is unfinished stands in it as it is: what is sent is what is shown. */
export function textWith(value: unknown): string {
  const unfinished: string[] = [];
  // No text that anybody types.
  const mark = `unfinished ${Math.random()} `;
  const marked = (_key: string, member: unknown) =>
    member instanceof Unfinished ? `${mark}${unfinished.push(member.text) - 1}` : member;
  const text = JSON.stringify(value, marked, 2);
  return unfinished.reduce((sofar, one, index) => sofar.replace(`"${mark}${index}"`, () => one), text);
}
