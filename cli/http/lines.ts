/** Lines of what comes in pieces. Each byte is looked at once and copied once, however long its line is. */
import { CommandError, EXIT } from "../terminal/exit.js";

/** More than a gateway takes or answers with by default. */
const LONGEST = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Lines, without their ends, as they come.
 * @throws {CommandError} when one is longer than 64 MiB.
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  let line: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, start)) {
      line.push(piece.subarray(start, end));
      yield Buffer.concat(line);
      line = [];
      length = 0;
      start = end + 1;
    }
    line.push(piece.subarray(start));
    length += piece.length - start;
    if (length > LONGEST) throw new CommandError("A line is larger than 64 MiB", EXIT.usage);
  }
  if (length > 0) yield Buffer.concat(line);
}
