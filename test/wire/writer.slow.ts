// The writer writes the same bytes as @bufbuild/protobuf's writer, and never changes a message
// later.
import { BinaryWriter as Reference } from "@bufbuild/protobuf/wire";
import t from "tap";
import { BinaryWriter } from "../../src/wire/writer.js";
import { anyCharacter } from "../support/characters.js";
import { fc } from "../support/properties.js";

type Step = (writer: BinaryWriter | Reference) => unknown;

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 200 }),
  fc.string({ maxLength: 30 }),
  fc.constantFrom("x".repeat(127), "x".repeat(128), "é".repeat(64), "x".repeat(20_000), "漢".repeat(9_000), "\ud800"),
);
const bytes = fc.uint8Array({ maxLength: 300 });
const scalar: fc.Arbitrary<Step> = fc.oneof(
  fc.nat({ max: 0xffff_ffff }).map(
    (value): Step =>
      (writer) =>
        writer.uint32(value),
  ),
  fc.integer().map(
    (value): Step =>
      (writer) =>
        writer.int32(value),
  ),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(
    (value): Step =>
      (writer) =>
        writer.int64(value),
  ),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(
    (value): Step =>
      (writer) =>
        writer.uint64(value),
  ),
  fc.boolean().map(
    (value): Step =>
      (writer) =>
        writer.bool(value),
  ),
  fc.double().map(
    (value): Step =>
      (writer) =>
        writer.double(value),
  ),
  text.map(
    (value): Step =>
      (writer) =>
        writer.string(value),
  ),
  bytes.map(
    (value): Step =>
      (writer) =>
        writer.bytes(value),
  ),
  bytes.map(
    (value): Step =>
      (writer) =>
        writer.raw(value),
  ),
);
const { steps } = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie("step"), { maxLength: 12 }),
  step: fc.oneof(
    { maxDepth: 4 },
    { weight: 4, arbitrary: scalar },
    {
      weight: 1,
      arbitrary: tie("steps").map(
        (inner): Step =>
          (writer) => {
            writer.fork();
            for (const step of inner) step(writer);
            writer.join();
          },
      ),
    },
  ),
}));

function written<W extends BinaryWriter | Reference>(writer: W, list: readonly Step[]): W {
  for (const step of list) step(writer);
  return writer;
}
const hex = (message: Uint8Array): string => Buffer.from(message).toString("hex");

t.test("writes messages like the reference, and changes no earlier message", async (t) => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 6 }), (messages) => {
      const expected = messages.map((list) => hex(written(new Reference(), list).finish()));
      const found = messages.map((list) => written(new BinaryWriter(), list).finish());
      return found.map(hex).join() === expected.join();
    }),
    { numRuns: 500 },
  );
  t.pass("no counterexample");
});

t.test("two writers in use at the same time do not affect each other", async (t) => {
  const [one, other] = [new BinaryWriter().string("one"), new BinaryWriter().string("other")];
  one.string("first");
  other.string("second");
  const third = new BinaryWriter().string("third").finish();
  t.same([one.finish(), other.finish(), third].map(String), ["\x03one\x05first", "\x05other\x06second", "\x05third"]);
});

t.test("a writer may be used again", async (t) => {
  const writer = new BinaryWriter();
  const first = writer.string("first").finish();
  const others = ["a", "b"].map((name) => new BinaryWriter().string(name).finish());
  const second = writer.string("second").finish();
  t.same([first, ...others, second].map(String), ["\x05first", "\x01a", "\x01b", "\x06second"]);
});

t.test("a message may reach the end of its block at any byte", async (t) => {
  const BLOCK = 16 * 1024;
  const nested: Step = (writer) => writer.uint32(1).fork().uint32(2).fork().raw(Buffer.alloc(140, "x")).join().join();
  const expected = hex(written(new Reference(), [nested]).finish());
  for (let left = 0; left < 160; left++) {
    // This message leaves `left` bytes free in a new block; it does not fit into any other block.
    new BinaryWriter().raw(Buffer.alloc(BLOCK - left)).finish();
    t.equal(hex(written(new BinaryWriter(), [nested]).finish()), expected, `${left} bytes before the end`);
  }
});

const wrong: [what: string, write: Step][] = [
  ["uint32 -1", (writer) => writer.uint32(-1)],
  ["uint32 2 ** 32", (writer) => writer.uint32(2 ** 32)],
  ["uint32 0.5", (writer) => writer.uint32(0.5)],
  ["int32 2 ** 31", (writer) => writer.int32(2 ** 31)],
  ["int32 NaN", (writer) => writer.int32(Number.NaN)],
  ["int64 2n ** 63n", (writer) => writer.int64(2n ** 63n)],
  ["uint64 -1n", (writer) => writer.uint64(-1n)],
  ["join without fork", (writer) => writer.join()],
];
for (const [what, write] of wrong) {
  t.test(`${what} is refused`, async (t) => {
    t.throws(() => write(new Reference()), "by the reference too");
    t.throws(() => write(new BinaryWriter()), /no (un|in)|without/);
  });
}
