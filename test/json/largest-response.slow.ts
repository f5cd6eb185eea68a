// A response is not written if its JSON would be far larger than the largest message. A few bytes
// may become a hundred bytes of JSON. A message field in several parts is copied to merge the
// parts.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import t from "tap";
import { TooLargeError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { collect, keptBeyond } from "./kept.js";
import { codecOf, typeOf, types } from "./types.js";

const LEAVES = 1;
const NUMBERS = 2;
const BRANCH = 3;

const { LengthDelimited, Varint } = WireType;

function leaves(count: number): Uint8Array {
  const w = new BinaryWriter();
  for (let at = 0; at < count; at++) w.tag(LEAVES, LengthDelimited).bytes(new Uint8Array());
  return w.finish();
}

t.test("JSON of at most eight times the size of the largest message is written", async (t) => {
  const wire = leaves(10);
  const json = codecOf(typeOf("Tree")).write(wire);
  const least = Math.ceil(json.length / 8);
  const codec = compileCodecs(types, { maxMessage: least })(typeOf("Tree"));
  t.equal(codec.write(wire), json);
  t.equal(codec.writeBody(wire).toString(), json);
  const tight = compileCodecs(types, { maxMessage: least - 1 })(typeOf("Tree"));
  const because = new TooLargeError(`the message is larger than ${(least - 1) * 8} bytes as JSON`);
  t.throws(() => tight.write(wire), because);
  t.throws(() => tight.writeBody(wire), because);
  t.equal(tight.write(leaves(1)).length < least * 8, true, "the next one is written again");
});

t.test("the limit counts bytes, not characters", async (t) => {
  const codec = compileCodecs(types, { maxMessage: 10 })(typeOf("google.protobuf.StringValue"));
  const wire = (count: number) => new BinaryWriter().tag(1, LengthDelimited).string("漢".repeat(count)).finish();
  t.equal(codec.write(wire(26)), `"${"漢".repeat(26)}"`);
  t.throws(() => codec.write(wire(27)), TooLargeError);
});

t.test("four megabytes of empty messages are rejected before their JSON reaches two hundred megabytes", async (t) => {
  const codec = codecOf(typeOf("Tree"));
  const wire = leaves(2 * 1024 ** 2);
  const because = new TooLargeError("the message is larger than 33554432 bytes as JSON");
  t.throws(() => codec.write(wire), because);
  collect();
  const before = process.memoryUsage().arrayBuffers;
  t.throws(() => codec.writeBody(wire), because);
  t.ok((await keptBeyond(before, 1024 ** 2)) < 1024 ** 2, "nothing of it is kept");
});

/** Puts a message into another one in a form that must be copied when it is written. */
const inChunks: Record<string, (w: BinaryWriter, inner: Uint8Array) => BinaryWriter> = {
  "each message field twice": (w, inner) =>
    w.tag(BRANCH, LengthDelimited).bytes(inner).tag(BRANCH, LengthDelimited).bytes(new Uint8Array()),
  "each list in two runs": (w, inner) =>
    w.tag(NUMBERS, Varint).int32(1).tag(BRANCH, LengthDelimited).bytes(inner).tag(NUMBERS, Varint).int32(2),
};

for (const [title, wrap] of Object.entries(inChunks)) {
  const nested = (levels: number, numbers: number): Uint8Array => {
    let wire = new BinaryWriter().tag(NUMBERS, LengthDelimited).bytes(new Uint8Array(numbers)).finish();
    for (let level = 0; level < levels; level++) wire = wrap(new BinaryWriter(), wire).finish();
    return wire;
  };

  t.test(title, async (t) => {
    const codec = compileCodecs(types, { omitZeros: true })(typeOf("Tree"));
    t.throws(
      () => codec.write(nested(98, 1024 ** 2)),
      new TooLargeError("the fields of the message are in so many pieces that they take more than 16777216 bytes"),
    );
    t.ok(codec.write(nested(98, 100_000)).length > 200_000, "a smaller message may be as deep");
    t.ok(codec.write(nested(4, 4_000_000)).length > 8_000_000, "a larger one less deep");
  });
}
