/** Strings, comments and keywords of the languages that snippets are in, to be coloured. Nothing is changed. */

export interface CodePiece {
  readonly kind: "string" | "comment" | "word" | "plain";
  readonly text: string;
}

const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.|'\\'')*'|`[^`]*`/;
const WORDS =
  /\b(?:import|from|const|let|await|for|of|if|return|new|package|func|defer|err|nil|with|as|in|print|None|True|False|true|false|null|curl|portico|echo)\b/;

export function colourCode(text: string, comment: "#" | "//"): CodePiece[] {
  const comments = comment === "#" ? /(?<![^\s])#[^\n]*/ : /\/\/[^\n]*/;
  const any = new RegExp(`(${STRING.source})|(${comments.source})|(${WORDS.source})`, "g");
  const pieces: CodePiece[] = [];
  let at = 0;
  for (const match of text.matchAll(any)) {
    const [all, string, remark] = match;
    if (match.index > at) pieces.push({ kind: "plain", text: text.slice(at, match.index) });
    pieces.push({ kind: string !== undefined ? "string" : remark !== undefined ? "comment" : "word", text: all });
    at = match.index + all.length;
  }
  if (at < text.length) pieces.push({ kind: "plain", text: text.slice(at) });
  return pieces;
}
