/**
 * For every input and output, four times the size takes about four times the time: nothing is
 * quadratic.
 */
import { create, createFileRegistry } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import t from "tap";
import type { MessageCodec } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { codecOf, typeOf } from "./types.js";

/** JSON of approximately `size` bytes. */
const texts: Record<string, [type: string, text: (size: number) => string | Buffer]> = {
  "keys of a map": ["Maps", (size) => `{"int32":{${numbers(size / 12, (at) => `"${at}":${at}`)}}}`],
  "keys of a struct": ["google.protobuf.Struct", (size) => `{${numbers(size / 12, (at) => `"k${at}":${at}`)}}`],
  "one string far inside": [
    "Optional",
    (size) => `${'{"nested":'.repeat(62)}{"string":"${"x".repeat(size)}"}${"}".repeat(62)}`,
  ],
  "many strings far inside": [
    "Lists",
    (size) => `{"message":[${numbers(size / 700, () => `${'{"nested":'.repeat(60)}{}${"}".repeat(60)}`)}]}`,
  ],
  "digits of an integer": ["Optional", (size) => `{"int64":1${"0".repeat(size)}e-${size}}`],
  "digits of a double": ["Optional", (size) => `{"double":0.${"1".repeat(size)}}`],
  escapes: ["Optional", (size) => `{"string":"${"\\n\\u00e9".repeat(size / 8)}"}`],
  "white space": ["Optional", (size) => `{${" ".repeat(size)}}`],
  "null after null": ["Lists", (size) => `{"value":[${numbers(size / 5, () => "null")}]}`],
  "an error at the end": ["Lists", (size) => `{"string":[${numbers(size / 4, () => '"a"')},1]}`],
  "an error of many lines": ["Optional", (size) => `{${"\n".repeat(size)}x`],
  "text that is not ASCII": ["Optional", (size) => `{"string":"${"\ufffd".repeat(size / 3)}"}`],
  "text that is not UTF-8 at the end": [
    "Optional",
    (size) =>
      Buffer.concat([Buffer.from(`{"string":"${"\ufffd".repeat(size / 3)}`), Buffer.of(0xff), Buffer.from('"}')]),
  ],
  "any in any, with the type behind": [
    "WellKnown",
    (size) =>
      `{"any":${'{"value":'.repeat(30)}{"string":"${"x".repeat(size)}","@type":"a/json.Optional"}${',"@type":"a/google.protobuf.Any"}'.repeat(30)}}`,
  ],
};

/** Wire bytes of approximately `size` bytes. */
const wires: Record<string, [type: string, wire: (size: number) => Uint8Array]> = {
  "lists that take turns": [
    "Lists",
    (size) => repeated(size / 4, (w, at) => w.tag(3 + (at % 4), WireType.Varint).int32(at % 100)),
  ],
  "members of a oneof that take turns": [
    "Choice",
    (size) =>
      repeated(size / 4, (w, at) =>
        w
          .tag(1 + (at % 2), at % 2 === 0 ? WireType.LengthDelimited : WireType.Varint)
          .uint32(1)
          .raw(at % 2 === 0 ? Uint8Array.of(97) : new Uint8Array(0)),
      ),
  ],
  "a message in pieces": [
    "Optional",
    (size) => repeated(size / 6, (w, at) => w.tag(17, WireType.LengthDelimited).bytes(Uint8Array.of(0x18, at % 100))),
  ],
  "equal keys": [
    "Maps",
    (size) => repeated(size / 8, (w, at) => w.tag(2, WireType.LengthDelimited).bytes(Uint8Array.of(8, at % 7, 16, 1))),
  ],
  "different keys": ["Maps", (size) => repeated(size / 10, (w, at) => entry(w, at))],
  "unknown groups": [
    "Optional",
    (size) => repeated(size / 4, (w) => w.tag(100, WireType.StartGroup).tag(100, WireType.EndGroup)),
  ],
};

function entry(w: BinaryWriter, key: number): void {
  w.tag(2, WireType.LengthDelimited).bytes(new BinaryWriter().tag(1, WireType.Varint).int32(key).finish());
}

function repeated(count: number, write: (w: BinaryWriter, at: number) => void): Uint8Array {
  const w = new BinaryWriter();
  for (let at = 0; at < count; at++) write(w, at);
  return w.finish();
}

function numbers(count: number, make: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => make(at)).join();
}

/** On a busy machine a run may be slow by chance. Then there are more runs. */
const MIN_ROUNDS = 4;
const MAX_ROUNDS = 30;

const SMALL = 64 * 1024;

for (const [title, [type, text]] of Object.entries(texts)) {
  const codec = codecOf(typeOf(type));
  const [small, large] = [SMALL, SMALL * 4].map((size) => Buffer.from(text(size) as string));
  notQuadratic(
    title,
    () => codec.read(small!),
    () => codec.read(large!),
  );
}

for (const [title, [type, wire]] of Object.entries(wires)) {
  const codec = codecOf(typeOf(type));
  const [small, large] = [SMALL, SMALL * 4].map((size) => wire(size));
  notQuadratic(
    title,
    () => codec.write(small!),
    () => codec.write(large!),
  );
}

const LONG = "x".repeat(1_997);

/**
 * Long strings, which native code searches. This is so fast that only many of them would show a
 * quadratic cost elsewhere.
 */
const longStrings: Record<string, [type: string, text: (size: number) => Buffer]> = {
  "many long strings": ["Lists", (size) => Buffer.from(`{"string":[${numbers(size / 2_000, () => `"${LONG}"`)}]}`)],
  "a long string, an escape in a thousand": [
    "Optional",
    (size) => Buffer.from(`{"string":"${`${LONG}\\n`.repeat(size / 2_000)}"}`),
  ],
};

for (const [title, [type, text]] of Object.entries(longStrings)) {
  const codec = codecOf(typeOf(type));
  const [small, large] = [512 * 1024, 2_048 * 1024].map(text);
  const [smallWire, largeWire] = [small!, large!].map((json) => Buffer.from(codec.read(json)));
  notQuadratic(
    `${title}, read`,
    () => codec.read(small!),
    () => codec.read(large!),
  );
  notQuadratic(
    `${title}, written`,
    () => codec.writeBody(smallWire!),
    () => codec.writeBody(largeWire!),
  );
}

t.test("the UTF-8 of a text is checked once, however many long strings precede an error", async () => {
  const codec = codecOf(typeOf("Lists"));
  const [small, large] = [512 * 1024, 2_048 * 1024].map((size) =>
    Buffer.concat([
      Buffer.from(`{"string":[${numbers(size / 400, () => `"${LONG.slice(0, 397)}"`)},"`),
      Uint8Array.of(0xff),
      Buffer.from('"]}'),
    ]),
  );
  const read = (json: Buffer) => () => {
    try {
      codec.read(json);
    } catch {}
  };
  notQuadratic("refused", read(small!), read(large!));
});

t.test("interleaved lists cost little more than lists one after the other, however many", async (t) => {
  const lists = 500;
  const count = SMALL / 4;
  const codec = codecOfLists(lists);
  const turns = repeated(count, (w, at) => w.tag((at % lists) + 1, WireType.Varint).int32(1));
  const runs = repeated(count, (w, at) => w.tag(Math.floor((at / count) * lists) + 1, WireType.Varint).int32(1));
  const isWanted = (best: number, worst: number) => worst < best * 5 + 1;
  const [best, worst] = bestOf(
    () => codec.write(runs),
    () => codec.write(turns),
    isWanted,
  );
  t.ok(isWanted(best, worst), `${best.toFixed(2)} and ${worst.toFixed(2)} ms`);
});

/** The codec of a message that has only lists. */
function codecOfLists(count: number): MessageCodec {
  const field = Array.from({ length: count }, (_, at) => ({
    name: `list${at + 1}`,
    jsonName: `list${at + 1}`,
    number: at + 1,
    label: FieldDescriptorProto_Label.REPEATED,
    type: FieldDescriptorProto_Type.INT32,
  }));
  const file = create(FileDescriptorProtoSchema, {
    name: "lists.proto",
    syntax: "proto3",
    messageType: [{ name: "M", field }],
  });
  const types = createFileRegistry(file, () => undefined);
  return compileCodecs(types)(types.getMessage("M")!);
}

/**
 * Four times the size may take at most ten times the time. Quadratic would be sixteen times. The
 * best of some runs counts.
 */
function notQuadratic(title: string, small: () => unknown, large: () => unknown): void {
  const isLinear = (best: number, bestLarge: number) => bestLarge < best * 10 + 1;
  const [best, bestLarge] = bestOf(small, large, isLinear);
  t.ok(isLinear(best, bestLarge), `${title}: ${best.toFixed(2)} and ${bestLarge.toFixed(2)} ms`);
}

/** The lowest cost of each. The two take turns until `isWanted` accepts the costs. */
function bestOf(
  one: () => unknown,
  other: () => unknown,
  isWanted: (one: number, other: number) => boolean,
): [one: number, other: number] {
  let [best, bestOther] = [Infinity, Infinity];
  for (let round = 0; round < MAX_ROUNDS && (round < MIN_ROUNDS || !isWanted(best, bestOther)); round++) {
    best = Math.min(best, cost(one));
    bestOther = Math.min(bestOther, cost(other));
  }
  return [best, bestOther];
}

/** Milliseconds of processor time. Throwing an error is part of the cost. */
function cost(run: () => unknown): number {
  const before = process.cpuUsage();
  try {
    run();
  } catch {
    // Some inputs must be rejected.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
