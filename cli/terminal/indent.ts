/**
 * Indents JSON text without reading it into values, so that nothing is lost or reordered: `-0`, long numbers, the order
 * of members.
 */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

export function indent(json: string): string {
  let depth = 0;
  let previous = "";
  let text = "";
  const newLine = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of json.matchAll(TOKEN)) {
    const closing = token === "}" || token === "]";
    const opened = previous === "{" || previous === "[";
    if (closing) depth -= 1;
    if (closing ? !opened : opened || previous === ",") text += newLine();
    text += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    previous = token;
  }
  return text;
}
