/** A secret that is shown once: alone on stdout, so that `KEY=$(portico auth create key ci)` works. */
import type { Io } from "../terminal/io.js";
import { type Format, printItem } from "../terminal/output.js";

export async function printSecret(
  io: Io,
  format: Format,
  answer: unknown,
  secret: string,
  talk: string,
): Promise<void> {
  await printItem(io, format, { name: secret, value: answer, text: [secret] });
  io.stderr.write(`${talk} Keep it: it cannot be shown again.\n`);
}
