/** Words before a point that ends no sentence. */
const ABBREVIATED = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|No)$/i;

/**
 * The first sentence of a comment as plain text on one line, for lists. Its Markdown is left out,
 * except for `code`.
 */
export function firstSentence(comment: string): string {
  const lines = comment.trim().slice(0, MAX_READ).split("\n");
  const last = lines.findIndex(
    (line, index) => index > 0 && /^\s*(?:$|[-+*>#]\s|\d+[.)]\s|={2,}$|-{2,}$|```)/.test(line),
  );
  const paragraph = withoutMarks(
    lines
      .slice(0, last === -1 ? undefined : last)
      .join(" ")
      .replace(/\s+/g, " "),
  );
  for (const { 0: end, index } of paragraph.matchAll(/[.!?]["')\]]*(?=\s)/g)) {
    if (paragraph[index] !== "." || !ABBREVIATED.test(paragraph.slice(Math.max(0, index - 12), index))) {
      return paragraph.slice(0, index + end.length);
    }
  }
  return paragraph;
}

/** Maximum characters that are read. A list has room for fewer. */
const MAX_READ = 1_000;

function withoutMarks(text: string): string {
  const shown = text.replace(/^(?:[-+*>]|#{1,6}|\d+[.)]) +/, "").split(/(`[^`]+`)/);
  const plain = (part: string) =>
    part
      .replace(/!?\[([^[\]]*)\](?:\([^()\s]*(?: "[^"]*")?\)|\[[^[\]]*\])/g, "$1")
      .replace(/(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^*_]*[^*_\s])\1(?!\w)/g, "$2")
      .replace(/<(https?:[^<>\s]*)>/g, "$1")
      .replace(/\\([!-/:-@[-`{-~])/g, "$1");
  return shown.map((part, index) => (index % 2 === 0 ? plain(part) : part)).join("");
}
