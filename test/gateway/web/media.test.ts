// Bytes are named by what they are, never by what a service says of them.
import t from "tap";
import type { Field, Message } from "../../../gateway/web/explore/document.js";
import { bytesOf, mediaOf, sizeInWords, textOf } from "../../../gateway/web/explore/media.js";
import { bytesIn, folded } from "../../../gateway/web/explore/response-bytes.js";

/** Bytes of hexadecimal digits and 'text'. */
function bytes(written: string): Uint8Array {
  const parts = written.split("'").map((part, index) => {
    return index % 2 === 1 ? Buffer.from(part, "latin1") : Buffer.from(part.replaceAll(" ", ""), "hex");
  });
  return Buffer.concat(parts);
}

const PNG = "89'PNG'0d0a1a0a 0000000d'IHDR'00000100 00000080 0802000000";

const CASES: readonly (readonly [written: string, summary: string, type: string])[] = [
  [PNG, "29 bytes, PNG, 256×128", "image/png"],
  ["89'PNG'0d0a1a0a", "8 bytes, PNG", "image/png"],
  ["ffd8 ffe0 0004 0000 ffc0 0011 08 0040 0020 03", "18 bytes, JPEG, 32×64", "image/jpeg"],
  ["ffd8 ffc4 0003 00 ffc2 0011 08 0001 0002 03", "17 bytes, JPEG, 2×1", "image/jpeg"],
  ["ffd8 ff", "3 bytes, JPEG", "image/jpeg"],
  ["'GIF89a' 0300 0200", "10 bytes, GIF, 3×2", "image/gif"],
  ["'RIFF'00000000'WEBPVP8X' 0a000000 00000000 ff0000 7f0000", "30 bytes, WebP, 256×128", "image/webp"],
  ["'RIFF'00000000'WEBPVP8L' 00000000 2f ff001f00", "25 bytes, WebP, 256×125", "image/webp"],
  ["'RIFF'00000000'WEBPVP8 ' 00000000 000000 9d012a 2000 1000", "30 bytes, WebP, 32×16", "image/webp"],
  ["'RIFF'00000000'WAVEfmt '", "16 bytes, WAV", "audio/wav"],
  ["'OggS'00", "5 bytes, Ogg", "audio/ogg"],
  ["'ID3'04", "4 bytes, MP3", "audio/mpeg"],
  [`'<?xml version="1.0"?><svg xmlns="x">'`, "36 bytes, SVG", "image/svg+xml"],
  ["'<svg>'", "5 bytes, SVG", "image/svg+xml"],
  ["'<html><svg>'", "11 bytes, text", "text/plain;charset=utf-8"],
  ["'<script>'", "8 bytes, text", "text/plain;charset=utf-8"],
  ["'%PDF-1.7'00", "9 bytes, binary", "application/octet-stream"],
  ["'Hello'", "5 bytes, text", "text/plain;charset=utf-8"],
  ["00", "1 byte, binary", "application/octet-stream"],
];

t.test("bytes are named by their beginning", async (t) => {
  for (const [written, summary, type] of CASES) {
    const media = mediaOf(bytes(written));
    t.same([media.summary, media.type], [summary, type], written);
  }
});

t.test("sizes are written for people", async (t) => {
  t.same([0, 1, 1_023, 1_536, 20_480, 1_048_576, 10_485_760].map(sizeInWords), [
    ...["0 bytes", "1 byte", "1023 bytes", "1.5 kB", "20 kB", "1.0 MB", "10.0 MB"],
  ]);
});

t.test("base64 is read in both alphabets, and text only if it can be read", async (t) => {
  t.same([...bytesOf("-_-_")!], [...bytesOf("+/+/")!]);
  t.equal(bytesOf("no base64!"), undefined);
  t.equal(textOf(Buffer.from("äöü\n")), "äöü\n");
  t.equal(textOf(Buffer.from([0xff])), undefined);
  t.equal(textOf(Buffer.from([7])), undefined);
});

function field(name: string, more: Partial<Field>): Field {
  const plain = {
    description: "",
    deprecated: false,
    required: false,
    secret: false,
    example: "",
    values: [],
    meaning: "",
  };
  return { ...plain, name, kind: "bytes", cardinality: "one", type: "bytes", message: undefined, ...more };
}

const inner: Message = { name: "Inner", description: "", choices: [], fields: [field("image", {})] };
const message: Message = {
  name: "Outer",
  description: "",
  choices: [],
  fields: [
    ...[field("stamp", {}), field("scans", { cardinality: "list" }), field("by_name", { cardinality: "map" })],
    ...[
      field("items", { kind: "message", cardinality: "list", message: () => inner }),
      field("text", { kind: "string" }),
    ],
  ],
};

t.test("a response's images and long bytes are found, and their base64 is folded", async (t) => {
  const image = Buffer.from(bytes(PNG)).toString("base64");
  const long = Buffer.alloc(1_536, "a").toString("base64");
  const answer = {
    stamp: image,
    scans: ["AQID", long],
    byName: { "a b": image },
    items: [{ image }],
    text: long,
    number: "x",
  };
  const text = JSON.stringify(answer);
  const shown = bytesIn(message, text);
  t.same(
    shown.map(({ path, media }) => [path, media.summary]),
    [
      ["stamp", "29 bytes, PNG, 256×128"],
      ["scans[1]", "1.5 kB, text"],
      ['byName["a b"]', "29 bytes, PNG, 256×128"],
      ["items[0].image", "29 bytes, PNG, 256×128"],
    ],
  );
  const short = JSON.parse(folded(text, shown));
  t.equal(short.scans[1], "‹1.5 kB, text›");
  t.equal(short.stamp, image, "what is short stays");
  for (const other of ["no JSON", "[]", "null", '{"stamp": "no base64!", "unknown": 1}'])
    t.same(bytesIn(message, other), []);
  t.same(bytesIn(undefined, text), [], "without a document nothing is known of the fields");
});
