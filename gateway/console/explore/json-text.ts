/**
 * JSON as text. Answers are shown as they came, only laid out: a number that JavaScript cannot hold is not rounded, and
 * what is no JSON is shown as it is.
 */

export type TokenKind = "key" | "string" | "number" | "word" | "plain";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\],])|(\s+)|(.)/gs;

/**
 * The text laid out, in pieces to be coloured.
 * @param oneLine leaves out line breaks
 */
export function layOut(text: string, oneLine = false): Token[] {
  if (!isJson(text)) return [{ kind: "plain", text }];
  const tokens: Token[] = [];
  let depth = 0;
  const newLine = () => tokens.push({ kind: "plain", text: oneLine ? " " : `\n${"  ".repeat(depth)}` });
  const parts = [...text.matchAll(PARTS)].filter(([, , , , , , blank]) => blank === undefined);
  const markAt = (index: number) => parts[index]?.[MARK] ?? "";
  for (const [index, [all, string, colon, number, word, mark]] of parts.entries()) {
    if (string !== undefined) tokens.push({ kind: colon === undefined ? "string" : "key", text: string });
    if (colon !== undefined) tokens.push({ kind: "plain", text: ": " });
    if (number !== undefined) tokens.push({ kind: "number", text: all });
    if (word !== undefined) tokens.push({ kind: "word", text: all });
    if (mark === undefined) continue;
    const closes = mark === "}" || mark === "]";
    const opens = mark === "{" || mark === "[";
    if (closes) depth--;
    if (closes && !OPENS.test(markAt(index - 1))) newLine();
    tokens.push({ kind: "plain", text: mark });
    if (opens) depth++;
    if (mark === "," || (opens && !CLOSES.test(markAt(index + 1)))) newLine();
  }
  return tokens;
}

const MARK = 5;
const OPENS = /[{[]/;
const CLOSES = /[}\]]/;

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

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

/** What is wrong with a text that should be a JSON object; undefined for nothing. */
export function faultOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? undefined : "A request is a JSON object: { … }";
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}`;
  }
}
