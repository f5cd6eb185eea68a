/**
 * Formats JSON text for people to read. It does not convert texts to values, so nothing is lost or
 * reordered: `-0`, long numbers, the order of members.
 */

export type TokenKind = "key" | "string" | "number" | "word" | "plain";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\],])|(\s+)|(.)/gs;

/**
 * Formats the text like JSON.stringify with an indent of two spaces, as tokens that can be
 * coloured. Text that is not JSON becomes one token, unchanged.
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
