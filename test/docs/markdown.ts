/** Reads tables and code blocks from a page of the documentation. */

export interface Table {
  /** The heading above it. */
  readonly heading: string;
  /** The line of its header, from 0. */
  readonly line: number;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function tablesOf(page: string): Table[] {
  const lines = page.split("\n");
  return lines.flatMap((text, line) => {
    if (!text.startsWith("|") || !/^\|[-|: ]+\|$/.test(lines[line + 1] ?? "")) return [];
    const end = lines.findIndex((other, index) => index > line && !other.startsWith("|"));
    const heading = lines.slice(0, line).findLast((other) => other.startsWith("#")) ?? "";
    return [{ heading, line, header: cellsOf(text), rows: lines.slice(line + 2, end).map(cellsOf) }];
  });
}

function cellsOf(row: string): string[] {
  return row
    .slice(1, row.lastIndexOf("|"))
    .split("|")
    .map((cell) => cell.trim());
}

/**
 * The text of each fenced code block.
 * @param language of the blocks; `""` for each indented block
 */
export function codeOf(page: string, language: string): string[] {
  if (language !== "")
    return [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(([, code = ""]) => code);
  const text = page.replace(/^```.*?^```/gms, "");
  return [...text.matchAll(/^ {4}.*\n(?:\n* {4}.*\n)*/gm)].map(([code]) => code.replace(/^ {4}/gm, ""));
}
