// A password on standard input is read to its end, however its bytes arrive.
import { Readable } from "node:stream";
import t from "tap";
import { passwordFromStdin } from "../../../cli/terminal/prompt.js";
import { ioOf } from "../command-line.js";

function given(chunks: readonly Uint8Array[]) {
  const stdin = Object.assign(Readable.from(chunks), { isTTY: false }); // in object mode, so that the chunks are not joined
  return passwordFromStdin({ ...ioOf({}).io, stdin });
}

t.test("a character whose bytes arrive in several chunks is not damaged", async (t) => {
  const bytes = Buffer.from("Müller 🙂\r\n");
  t.equal(await given(Array.from(bytes, (byte) => Buffer.of(byte))), "Müller 🙂");
});

t.test("accepts 4096 bytes, and rejects more", async (t) => {
  t.equal((await given([Buffer.alloc(4096, "a")])).length, 4096);
  await t.rejects(given([Buffer.alloc(4097, "a")]), { message: "Standard input is too long for a password", exit: 2 });
});
