/**
 * Compares the codec with @bufbuild/protobuf, the reference, over random types, random JSON, and
 * randomly damaged JSON. Both accept and reject the same JSON, and make the same message from it,
 * except where the codec is stricter or more exact on purpose.
 */
import {
  type DescMessage,
  type FileRegistry,
  fromBinary,
  fromJsonString,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { fc } from "../support/properties.js";
import { randomJson, randomTypes } from "./random-types.js";
import { meaningOf } from "./reference.js";

/** Errors of the codec for JSON that it rejects and the reference accepts. */
const STRICTER: readonly RegExp[] = [
  // Strings must be Unicode text.
  /half of a surrogate pair/,
  // The depth is limited.
  /nested more than 64 levels deep/,
  // Numbers in quotes must be written as in JSON. Base64 must not contain other characters.
  /expected (an integer|a number|base64).*, got "/,
  // Each map key can be written in one way only.
  /without fraction or exponent/,
  // A Value cannot contain an infinite number.
  /expected a number in the range of a double/,
  // Days and hours must exist. Nothing may follow the s of a duration, and there are no digits
  // beyond nanoseconds.
  /such as "(2006-01-02T15:04:05.5Z|1.5s)", got "/,
  // A path of a field mask must not be empty.
  /expected field names in lowerCamelCase/,
  // Null means that a wrapper is absent. It does not mean zero.
  /expected .*, got null/,
];

/** Errors of the reference for JSON that it rejects and the codec accepts. */
const MORE_LENIENT: readonly RegExp[] = [
  // Integers may be written in any form that is exact.
  /expected bigint|expected number \((float32|u?int32)\)/,
  // Null means that a member of a oneof is absent, whatever its type.
  /oneof set multiple times/,
];

/** The reference loses digits of an unquoted integer with this many digits. */
const BEYOND_DOUBLE = /\d{16}/;

const jsonOfTypes = randomTypes.chain(({ types, root }) =>
  fc.record({ types: fc.constant(types), root: fc.constant(root), json: randomJson(root) }),
);

/** Reads JSON with both. Returns the message if both accept it. */
function readAsReference(
  types: FileRegistry,
  root: DescMessage,
  text: string,
  ignoreUnknown = false,
): { ours?: Uint8Array; theirs?: Uint8Array } {
  const bytes = Buffer.from(text);
  // Both must read the same text. If the middle of a surrogate pair was damaged, a half remains,
  // which is not valid in UTF-8. `toString` replaces it.
  const json = bytes.toString();
  const [ours, ourError] = attempt(() => compileCodecs(types, { ignoreUnknown })(root).read(bytes));
  const options = { ignoreUnknownFields: ignoreUnknown };
  const [theirs, theirError] = attempt(() => toBinary(root, fromJsonString(root, json, options)));
  if (ourError !== undefined && !(ourError instanceof JsonError)) throw ourError;
  if (ours === undefined && theirs === undefined) return {};
  if (ours === undefined) {
    if (STRICTER.some((reason) => reason.test(ourError!.message))) return {};
    throw new Error(`refused: ${ourError!.message}`);
  }
  if (theirs === undefined) {
    if (MORE_LENIENT.some((reason) => reason.test(theirError!.message))) return { ours };
    throw new Error(`taken, though ${theirError!.message}`);
  }
  if (!BEYOND_DOUBLE.test(json)) sameMessage(root, ours, theirs);
  return { ours, theirs };
}

t.test("accepts valid JSON, and converts it in both directions", async (t) => {
  let taken = 0;
  fc.assert(
    fc.property(jsonOfTypes, ({ types, root, json }) => {
      const { theirs } = readAsReference(types, root, json);
      if (theirs === undefined) return;
      taken++;
      const codec = compileCodecs(types)(root);
      const written = codec.write(theirs);
      sameMessage(root, toBinary(root, fromJsonString(root, written)), theirs);
      sameMessage(root, codec.read(Buffer.from(written)), theirs);
    }),
    { numRuns: 250 },
  );
  t.ok(taken > 125, `${taken} taken`);
});

const TOKENS = [
  ...[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "-",
    ".",
    "e",
    "E5",
    "e-1",
    " ",
    "\n",
    "\u0000",
    "é",
    "\\u",
    "=",
    "Z",
    "s",
  ],
  ...["0", "-0", "1.0", "1e3", '"1e3"', '"1.0"', "0.5", '"0.5"', "01", '"01"', '" 1"', "1e999", "-1e999", "3.5e38"],
  ...["2147483648", "-2147483649", "4294967296", "9223372036854775808", "9223372036854775807", "9007199254740993"],
  ...['"18446744073709551616"', '"NaN"', "NaN", '"Infinity"', "null", "true", "false", "{}", "[]", "[null]", '{"a":1}'],
  ...['""', '"x"', '"AQ"', '"AQ="', '"AQ=="', '"A"', '"_-8"', '"OPEN_A"', '"CLOSED_A"', "7", "-1", '"\\ud800"'],
  ...['"2001-02-29T00:00:00Z"', '"2001-01-01T24:00:00Z"', '"1s"', '"1s2"', '"1.0000000001s"', '"-0.5s"', '"a,,b"'],
  ...['"__proto__"', '"id"', '"first_name"', '"firstName"', '"constructor"', '"@type"'],
];

/**
 * Members with names that no type has. The reference refuses a name that occurs twice even in an
 * object that it ignores.
 */
const unknownMembers = fc
  .uniqueArray(fc.tuple(fc.constantFrom("x", "y", "unknown", "[a.b]", "Id"), fc.jsonValue({ maxDepth: 2 })), {
    selector: ([name]) => name,
    maxLength: 3,
  })
  .map((members) => members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`).join(""));

t.test("passes over unknown names, as the reference does", async (t) => {
  let taken = 0;
  fc.assert(
    fc.property(jsonOfTypes, unknownMembers, fc.infiniteStream(fc.nat(5)), ({ types, root, json }, members, turns) => {
      // Members at the beginning of some objects, and other names of some enum values.
      const text = json
        .replaceAll(/\{(?=")/g, (brace) => (turns.next().value === 0 ? brace + members : brace))
        .replaceAll(/"(OPEN|CLOSED)_[ABC]"/g, (name) => (turns.next().value === 0 ? '"NEITHER"' : name));
      if (readAsReference(types, root, text, true).ours !== undefined) taken++;
    }),
    { numRuns: 400 },
  );
  t.ok(taken > 150, `${taken} taken`);
});

t.test("writes the names of the .proto file, as the reference does", async (t) => {
  fc.assert(
    fc.property(jsonOfTypes, fc.boolean(), ({ types, root, json }, omitZeros) => {
      const [wire] = attempt(() => compileCodecs(types)(root).read(Buffer.from(json)));
      if (wire === undefined) return;
      const options = { useProtoFieldName: true, alwaysEmitImplicit: !omitZeros };
      const theirs = toJsonString(root, fromBinary(root, wire), options);
      const ours = compileCodecs(types, { protoNames: true, omitZeros })(root).write(wire);
      if (namesOf(JSON.parse(ours)) !== namesOf(JSON.parse(theirs))) throw new Error(`${ours} is not ${theirs}`);
    }),
    { numRuns: 250 },
  );
  t.pass("no counterexample");
});

/** A value with its names, without its numbers: the reference writes floats and -0 otherwise. */
function namesOf(value: unknown): string {
  return JSON.stringify(value, (_, one) => (typeof one === "number" ? 0 : one));
}

/** A place in a text, from 0 to 1, and the change at this place. */
const spoiling = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  how: fc.constantFrom("insert", "remove", "repeat", "replace", "replace"),
  length: fc.integer({ min: 1, max: 20 }),
  token: fc.constantFrom(...TOKENS),
});

function spoilt(
  json: string,
  { place, how, length, token }: { place: number; how: string; length: number; token: string },
): string {
  const at = Math.floor(place * json.length);
  if (how === "insert") return json.slice(0, at) + token + json.slice(at);
  if (how === "remove") return json.slice(0, at) + json.slice(at + (length >> 2) + 1);
  if (how === "repeat") return json.slice(0, at) + json.slice(Math.max(0, at - length));
  const values = [...json.matchAll(/"(?:[^"\\]|\\.)*"|[-\w.+]+/g)];
  const value = values[Math.floor(place * values.length)];
  return value === undefined ? token : json.slice(0, value.index) + token + json.slice(value.index + value[0].length);
}

t.test("rejects damaged JSON", async (t) => {
  let taken = 0;
  let refused = 0;
  fc.assert(
    fc.property(jsonOfTypes, fc.array(spoiling, { minLength: 1, maxLength: 2 }), ({ types, root, json }, spoilings) => {
      const { ours } = readAsReference(types, root, spoilings.reduce(spoilt, json));
      if (ours === undefined) refused++;
      else taken++;
    }),
    { numRuns: 600 },
  );
  t.ok(taken > 25 && refused > 25, `${taken} taken, ${refused} refused`);
});

t.test("converts a part of a larger buffer like a small buffer", async (t) => {
  fc.assert(
    fc.property(jsonOfTypes, fc.nat({ max: 9 }), fc.nat({ max: 9 }), ({ types, root, json }, before, after) => {
      const codec = compileCodecs(types)(root);
      const padded = new Uint8Array(Buffer.from('"'.repeat(before) + json + '"'.repeat(after)));
      const [whole] = attempt(() => codec.read(Buffer.from(json)));
      const [part] = attempt(() => codec.read(padded.subarray(before, padded.length - after)));
      return (whole && Buffer.from(whole).toString("hex")) === (part && Buffer.from(part).toString("hex"));
    }),
    { numRuns: 100 },
  );
  t.pass("no counterexample");
});

function attempt<T>(run: () => T): [result: T, error: undefined] | [result: undefined, error: Error] {
  try {
    return [run(), undefined];
  } catch (error) {
    return [undefined, error as Error];
  }
}

function sameMessage(type: DescMessage, wire: Uint8Array, expected: Uint8Array): void {
  const [ours, theirs] = [meaningOf(type, wire), meaningOf(type, expected)];
  if (ours !== theirs) throw new Error(`${ours} is not ${theirs}`);
}
