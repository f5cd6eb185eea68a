// The reader returns the same results as @bufbuild/protobuf's reader, for messages and for any
// other bytes.
import { isDeepStrictEqual } from "node:util";
import { BinaryReader as Reference } from "@bufbuild/protobuf/wire";
import t from "tap";
import { BinaryReader } from "../../src/wire/reader.js";
import { BinaryWriter } from "../../src/wire/writer.js";
import { fc } from "../support/properties.js";

const READS = {
  uint32: (reader: BinaryReader | Reference) => reader.uint32(),
  int32: (reader: BinaryReader | Reference) => reader.int32(),
  int64: (reader: BinaryReader | Reference) => reader.int64(),
  uint64: (reader: BinaryReader | Reference) => reader.uint64(),
  bool: (reader: BinaryReader | Reference) => reader.bool(),
  double: (reader: BinaryReader | Reference) => reader.double(),
  bytes: (reader: BinaryReader | Reference) => Buffer.from(reader.bytes()).toString("hex"),
  // The reference refuses strings that are not UTF-8 only when this parameter is true.
  string: (reader: BinaryReader | Reference) =>
    reader instanceof BinaryReader ? reader.string() : reader.string(true),
  skip: (reader: BinaryReader | Reference) => Buffer.from(reader.skip(reader.uint32() & 7)).toString("hex"),
};
type Read = keyof typeof READS;

/** The values that are read and the position after each, until a read fails. */
function outcome(reader: BinaryReader | Reference, reads: readonly Read[]): unknown[] {
  const found: unknown[] = [];
  for (const read of reads) {
    try {
      found.push(READS[read](reader), reader.pos);
    } catch {
      return [...found, "refused"];
    }
  }
  return found;
}

const reads = fc.array(fc.constantFrom(...(Object.keys(READS) as Read[])), { minLength: 1, maxLength: 6 });
/** Small numbers, bytes at the end and in the middle of a varint, and any others. */
const byte = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(0x7f, 0x80, 0x81, 0xff), fc.nat({ max: 255 }));
const input = fc.array(byte, { maxLength: 40 }).map((bytes) => Uint8Array.from(bytes));

t.test("reads any bytes like the reference", async (t) => {
  fc.assert(
    fc.property(input, reads, (bytes, reads) =>
      isDeepStrictEqual(outcome(new BinaryReader(bytes), reads), outcome(new Reference(bytes), reads)),
    ),
    { numRuns: 5_000 },
  );
  t.pass("no counterexample");
});

const VARINTS: [what: string, bytes: number[]][] = [
  ["of ten bytes", [...Array(9).fill(0xff), 0x01]],
  ["of eleven bytes", [...Array(10).fill(0xff), 0x01]],
  ["with only its high 32 bits", [0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
  ["with bits above the 64th", [...Array(9).fill(0x80), 0x7e]],
];

for (const [what, bytes] of VARINTS) {
  for (const read of ["uint32", "int32", "int64", "uint64", "bool", "bytes"] as const) {
    t.test(`reads a varint ${what} as ${read} like the reference`, async (t) => {
      const input = Uint8Array.from(bytes);
      t.same(outcome(new BinaryReader(input), [read]), outcome(new Reference(input), [read]));
    });
  }
}

const TEXTS = ["", "Ada", "twelve chars", "thirteen char", "é", "漢字 and 😈", "x".repeat(200), "\ufeffmark", "nul \0"];

for (const text of TEXTS) {
  t.test(`reads the text ${JSON.stringify(text).slice(0, 20)}`, async (t) => {
    t.equal(new BinaryReader(new BinaryWriter().string(text).finish()).string(), text);
  });
}

/** Nested groups: the tags that begin them, then the tags (or other bytes) that should end them. */
const groups = (depth: number, end: number): Uint8Array =>
  Uint8Array.from([...Array(depth).fill(0x0b), ...Array(depth).fill(end)]);

const GROUPS: [what: string, bytes: Uint8Array, taken: boolean][] = [
  ["100 levels deep", groups(100, 0x0c), true],
  ["101 levels deep", groups(101, 0x0c), false],
  ["with an end tag of another field", groups(2, 0x14), false],
  ["without end tags", groups(2, 0x08), false],
  ["with a tag of 35 bits", Uint8Array.from([0x0b, 0x88, 0x80, 0x80, 0x80, 0x40, 0x00, 0x0c]), false],
  ["with the field 0", Uint8Array.from([0x0b, 0x00, 0x00, 0x0c]), false],
];

for (const [what, bytes, taken] of GROUPS) {
  t.test(`groups ${what} are ${taken ? "skipped" : "refused"}`, async (t) => {
    const expected = taken ? [Buffer.from(bytes.subarray(1)).toString("hex"), bytes.length] : ["refused"];
    for (const reader of [new Reference(bytes), new BinaryReader(bytes)]) t.same(outcome(reader, ["skip"]), expected);
  });
}
