// A long string is examined and copied in large steps. Every character stays exact at every place.
import { Buffer } from "node:buffer";
import t from "tap";
import { codecOf, typeOf } from "./types.js";

const codec = codecOf(typeOf("Optional"));
/** Approximate ends of steps, chunks and blocks, in both directions. */
const EDGES = [1, 32, 64, 256, 512, 1_536, 4_096, 4_352, 16_384, 16_640, 32_768, 65_535, 66_000, 81_920];
const LENGTH = 90_000;

const characters: Record<string, string> = {
  "a quote": '"',
  "a backslash": "\\",
  "a line break": "\n",
  "the last control character": "\u001f",
  "the first character that is not a control character": " ",
  delete: "\u007f",
  "two bytes": "é",
  "three bytes": "漢",
  "four bytes": "😀",
};

for (const [title, character] of Object.entries(characters)) {
  t.test(`${title} at any place`, async (t) => {
    const wrong = EDGES.flatMap((edge) => Array.from({ length: 9 }, (_, index) => edge - 4 + index))
      .filter((at) => at >= 0)
      .filter((at) => {
        const text = `${"x".repeat(at)}${character}${"y".repeat(LENGTH - at)}`;
        return written(JSON.stringify(text)) !== text;
      });
    t.same(wrong, []);
  });
  t.test(`${title} often, between long plain parts`, async (t) => {
    for (const gap of [10, 100, 300, 600, 2_000]) {
      const text = `${"x".repeat(gap)}${character}`.repeat(LENGTH / gap);
      t.ok(written(JSON.stringify(text)) === text, `every ${gap} bytes`);
    }
  });
}

/** The string after it was read from JSON and written as JSON, in both forms. */
function written(json: string): string {
  const wire = codec.read(Buffer.from(`{"string":${json}}`));
  const { string } = JSON.parse(codec.writeBody(wire).toString());
  return JSON.parse(codec.write(wire)).string === string ? string : "the forms differ";
}

const refused: Record<string, [bytes: Uint8Array, because: RegExp]> = {
  "a control character": [Buffer.from("\u001f"), /column \d+: a string has a control character that is not escaped/],
  "an escape that JSON does not know": [Buffer.from("\\x"), /an escape that JSON does not know/],
  "half of a surrogate pair": [Buffer.from("\\ud800"), /half of a surrogate pair/],
  "half of a surrogate pair as bytes": [Buffer.from([0xed, 0xa0, 0x80]), /the text is not valid UTF-8/],
  "a byte that is not UTF-8": [Buffer.from([0xff]), /the text is not valid UTF-8/],
  "a sequence that is cut": [Buffer.from([0xe6, 0xbc]), /the text is not valid UTF-8/],
};

for (const [title, [bytes, because]] of Object.entries(refused)) {
  t.test(`${title} is rejected at any place`, async (t) => {
    for (const at of EDGES) {
      const json = ['{"string":"', "x".repeat(at), bytes, "y".repeat(LENGTH - at), '"}'].map((part) =>
        Buffer.from(part),
      );
      t.throws(() => codec.read(Buffer.concat(json)), because, `at ${at}`);
    }
  });
}

t.test("the first error is reported, even if the text after it is not UTF-8", async (t) => {
  const json = [`{"string":"${"x".repeat(LENGTH)}",}`, new Uint8Array([0xff])].map((part) => Buffer.from(part));
  t.throws(() => codec.read(Buffer.concat(json)), /expected a name in quotes, got "}"/);
});

t.test("a response with a long string that is not UTF-8 is rejected", async (t) => {
  for (const at of EDGES) {
    const wire = codec.read(Buffer.from(`{"string":"${"x".repeat(LENGTH)}"}`));
    wire[wire.length - LENGTH + at] = 0xff;
    t.throws(() => codec.writeBody(wire), /not valid UTF-8/, `at ${at}`);
    t.throws(() => codec.write(wire), /not valid UTF-8/, `at ${at}`);
  }
});
