/**
 * The stored corpus: `corpus/*.txt`. A line `=== title` begins a case. Each line end of the file is
 * CRLF on the wire, except the one before the next title. These stand for bytes:
 * - `\r`, `\n`, `\t`, `\\` and `\xNN`
 * - `\` at the end of a line: no line end
 * - `\{x*20000}`: 20,000 times `x`
 */
import { readdirSync, readFileSync } from "node:fs";

export interface CorpusCase {
  readonly title: string;
  readonly bytes: Buffer;
}

const FOLDER = "test/gateway/node/differential/corpus";
const ESCAPES: Readonly<Record<string, string>> = { r: "\r", n: "\n", t: "\t", "\\": "\\" };

export function corpus(): CorpusCase[] {
  return readdirSync(FOLDER)
    .sort()
    .flatMap((file) => parse(readFileSync(`${FOLDER}/${file}`, "utf8")));
}

function parse(text: string): CorpusCase[] {
  const cases = text.split(/^=== /m).slice(1);
  return cases.map((part) => {
    const lineEnd = part.indexOf("\n");
    return { title: part.slice(0, lineEnd), bytes: bytesOf(part.slice(lineEnd + 1).replace(/\n$/, "")) };
  });
}

function bytesOf(text: string): Buffer {
  const repeated = text.replaceAll(/\\\{(.+?)\*(\d+)\}/g, (_, chunk, times) => chunk.repeat(Number(times)));
  const onWire = repeated.replaceAll("\\\n", "").replaceAll("\n", "\r\n");
  const bytes = onWire.replaceAll(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex, letter) => {
    return hex === undefined ? ESCAPES[letter]! : String.fromCharCode(Number.parseInt(hex, 16));
  });
  return Buffer.from(bytes, "latin1");
}

/** The bytes in a readable form. */
export function printable(bytes: Buffer): string {
  return JSON.stringify(bytes.toString("latin1")).replaceAll(
    /[\x7f-\xff]/g,
    (byte) => `\\x${byte.charCodeAt(0).toString(16)}`,
  );
}
