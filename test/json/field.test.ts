// The codec of one field of a message: its JSON is the field's value, and its wire bytes are a
// message with only that field.
import type { DescField } from "@bufbuild/protobuf";
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";
import { typeOf, types } from "./types.js";

const codecOf = compileCodecs(types, { omitZeros: true });

function fieldOf(path: string): DescField {
  const [type = "", name] = path.split(".");
  const field = typeOf(type).fields.find((one) => one.name === name);
  if (field === undefined) throw new Error(`no ${path}`);
  return field;
}

/** Fields, each with a value in JSON. */
const VALUES: readonly (readonly [path: string, json: string])[] = [
  ["Optional.int32", "7"],
  ["Optional.int64", '"9007199254740993"'],
  ["Optional.string", '"a"'],
  // A name with more bytes in UTF-8 than characters.
  ["Optional.other", '"ü"'],
  ["Optional.other", `"${"ü".repeat(1000)}"`],
  ["Implicit.int32", "0"],
  ["Implicit.bool", "true"],
  ["Implicit.color", '"COLOR_RED"'],
  ["Lists.int32", "[1,2,3]"],
  ["Lists.string", "[]"],
  ["Lists.message", '[{"int32":1},{}]'],
  ["Maps.string", '{"a":"b"}'],
  ["Choice.text", '"x"'],
  ["Choice.nothing", "null"],
  ["WellKnown.timestamp", '"2026-11-22T00:00:00Z"'],
  ["WellKnown.value", "null"],
  ["WellKnown.value", '{"a":[1]}'],
  ["WellKnown.struct", '{"a":1}'],
];

t.test("a value is read as a message with only that field, and written back as the value", async (t) => {
  for (const [path, json] of VALUES) {
    const field = fieldOf(path);
    const wire = codecOf(field).read(Buffer.from(` ${json} `));
    const whole = codecOf(field.parent).read(Buffer.from(`{${JSON.stringify(field.jsonName)}:${json}}`));
    t.strictSame(Buffer.from(wire), Buffer.from(whole), `${path} from ${json}`);
    t.equal(codecOf(field).write(wire), json, `${path} as a string`);
    t.equal(Buffer.from(codecOf(field).writeBody(wire)).toString(), json, `${path} as a body`);
  }
});

t.test("other fields of the message are omitted", async (t) => {
  const wire = codecOf(typeOf("Optional")).read(Buffer.from('{"string":"a","int32":3,"nested":{"bool":true}}'));
  t.equal(codecOf(fieldOf("Optional.int32")).write(wire), "3");
  t.equal(codecOf(fieldOf("Optional.nested")).write(wire), '{"bool":true}');
});

t.test("null means that the field is absent", async (t) => {
  for (const path of ["Optional.int32", "Lists.int32", "Maps.string", "Implicit.nested", "WellKnown.timestamp"]) {
    t.equal(codecOf(fieldOf(path)).read(Buffer.from("null")).length, 0, path);
  }
});

t.test(
  "an absent field is written as zero, as an empty message, or as null, even if messages omit zeros",
  async (t) => {
    const absent: Readonly<Record<string, string>> = {
      "Implicit.int64": '"0"',
      "Lists.int32": "[]",
      "Maps.string": "{}",
      "Optional.nested": "{}",
      "WellKnown.empty": "{}",
      "Optional.int32": "null",
      "WellKnown.timestamp": "null",
    };
    for (const [path, json] of Object.entries(absent)) {
      const codec = codecOf(fieldOf(path));
      t.equal(codec.write(Buffer.alloc(0)), json, path);
      t.equal(Buffer.from(codec.writeBody(Buffer.alloc(0))).toString(), json, path);
    }
  },
);

t.test("a value that does not fit is rejected, with its place in the value", async (t) => {
  const refused: readonly (readonly [path: string, json: string, because: string])[] = [
    ["Optional.int32", '"x"', 'expected an integer from -2147483648 to 2147483647, got "x"'],
    ["Lists.message", '[{"int32":true}]', "[0].int32: expected an integer from -2147483648 to 2147483647, got true"],
    ["Optional.nested", '{"nothing":1}', "nothing: no such field in json.Optional"],
    // A body must not set other fields of the message.
    ["Optional.int32", '1,"string":"a"', 'line 1, column 2: expected nothing after the value, got ","'],
    ["Optional.int32", "", "line 1, column 1: expected a value, got the end of the input"],
  ];
  for (const [path, json, because] of refused) {
    t.throws(() => codecOf(fieldOf(path)).read(Buffer.from(json)), new JsonError(because), `${path} from ${json}`);
  }
});
