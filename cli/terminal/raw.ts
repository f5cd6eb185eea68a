/** Raw bytes on stdout, as they are; on a terminal only if they are text, and then without tricks. */
import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";
import type { RawAnswer } from "../http/http.js";
import { CommandError, EXIT } from "./exit.js";
import type { Io } from "./io.js";
import { visibleLines } from "./text.js";

const TEXT = /^(?:text\/|application\/(?:.+\+)?(?:json|xml|x-ndjson|yaml)\b)/i;

/** @throws {CommandError} for bytes that a terminal cannot show. */
export async function printRaw({ stdout, signal }: Io, { contentType, pieces }: RawAnswer): Promise<void> {
  const decoder = new StringDecoder("utf8");
  for await (const piece of pieces) {
    if (stdout.isTTY && !TEXT.test(contentType)) {
      throw new CommandError(`The answer is ${contentType}, which is not for a terminal. Add: > file`, EXIT.usage);
    }
    stdout.write(stdout.isTTY ? visibleLines(decoder.write(piece)) : piece);
    if (stdout.writableNeedDrain) await once(stdout, "drain", { signal });
  }
}
