/**
 * Over random types, random JSON, and JSON that is spoilt at random, the codec does what @bufbuild/protobuf does: it
 * takes and refuses the same, and makes the same message of it, but where it is meant to be stricter or more exact.
 */
import { type DescMessage, type FileRegistry, fromJsonString, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { randomJson, randomTypes } from "./random-types.js";
import { meaningOf } from "./reference.js";

/** Refused here and taken by the reference, by what is said of it. */
const STRICTER: readonly RegExp[] = [
  // Strings are Unicode text.
  /half of a surrogate pair/,
  // The depth is limited.
  /nested more than 64 levels deep/,
  // Numbers in quotes are written as in JSON; base64 is nothing but base64.
  /expected (an integer|a number|base64).*, got "/,
  // Map keys are written in one way.
  /without fraction or exponent/,
  // An infinite number is none that a Value may hold.
  /expected a number in the range of a double/,
  // Days and hours exist; behind the s of a duration stands nothing, and nanoseconds are the least there is.
  /such as "(2006-01-02T15:04:05.5Z|1.5s)", got "/,
  // No path of a field mask is empty.
  /expected field names in lowerCamelCase/,
  // Null is the absence of a wrapper, not its zero.
  /expected .*, got null/,
];

/** Taken here and refused by the reference, by what it says. */
const MORE_LENIENT: readonly RegExp[] = [
  // Integers may be written in any way that is exact.
  /expected bigint|expected number \((float32|u?int32)\)/,
  // Null is the absence of a member of a oneof, whatever its type.
  /oneof set multiple times/,
];

/** What the reference reads in an unquoted integer of so many digits is no longer what it says. */
const BEYOND_DOUBLE = /\d{16}/;

const jsonOfTypes = randomTypes.chain(({ types, root }) =>
  fc.record({ types: fc.constant(types), root: fc.constant(root), json: randomJson(root) }),
);

/** Reads JSON with both. The message, when both took it. */
function readAsReference(
  types: FileRegistry,
  root: DescMessage,
  text: string,
): { ours?: Uint8Array; theirs?: Uint8Array } {
  const bytes = Buffer.from(text);
  // Both read the same: half of a surrogate pair, as is left of one that was spoilt in its middle, is no UTF-8.
  const json = bytes.toString();
  const [ours, ourError] = attempt(() => compileCodecs(types)(root).read(bytes));
  const [theirs, theirError] = attempt(() => toBinary(root, fromJsonString(root, json)));
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

t.test("takes what is right, in either direction", async (t) => {
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

/** A place in a text, from 0 to 1, and what happens there. */
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

t.test("refuses what is wrong", async (t) => {
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

t.test("does with a part of a larger buffer what it does with all of a small one", async (t) => {
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
