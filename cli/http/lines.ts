/** Lines of input that arrives in pieces: an NDJSON stream, or messages on standard input. */
import { LineSplitter } from "../../src/api/lines.js";
import { asBuffer } from "../../src/buffer.js";
import { CommandError, EXIT } from "../terminal/exit.js";

/** In bytes: more than a gateway takes or answers with by default. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Lines, without their line feeds, as they come.
 * @throws {CommandError} when one is longer than 64 MiB.
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  const splitter = new LineSplitter();
  for await (const piece of pieces) {
    for (const line of splitter.push(piece)) yield asBuffer(line);
    if (splitter.unfinishedLength > MAX_LINE) throw new CommandError("A line is larger than 64 MiB", EXIT.usage);
  }
  const last = splitter.end();
  if (last !== undefined) yield asBuffer(last);
}
