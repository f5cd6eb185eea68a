/** A field with several texts, one on each line. */

/** Lines without the spaces around them; empty ones are left out. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
