// The patterns and limits of a document accept exactly the values that the gateway reads, up to the
// largest one.
import t from "tap";
import { openApi } from "../../../gateway/openapi/document.js";
import { endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import { compileCodecs } from "../../../src/json/compile.js";
import { createKinds } from "./kinds.js";

const { descriptors } = createKinds();
const types = readDescriptors(descriptors);
const endpoints = endpointsOf("kinds", types, ["kinds.Kinds"]);
const text = openApi({ service: "kinds", endpoints, types, server: "/" });
const { schemas } = JSON.parse(text).components;
const codecOf = compileCodecs(types);

/** Whether the gateway reads a value of a field. */
function reads(message: string, field: string, json: string): boolean {
  try {
    codecOf(types.getMessage(message)!).read(Buffer.from(`{${JSON.stringify(field)}:${json}}`));
    return true;
  } catch {
    return false;
  }
}

/** The pattern for the strings of a schema. */
function patternOf(name: string): RegExp {
  const schema = schemas[`${name}-input`];
  const strings = schema.anyOf?.find(({ type }: { type: string }) => type === "string") ?? schema;
  return new RegExp(strings.pattern, "u");
}

const AROUND = (last: bigint): string[] => [last - 1n, last, last + 1n, last * 10n, last / 10n].map(String);
const INTEGERS = [
  ...["0", "-0", "1", "-1", "7", "10", "19", "99", "01", "", " 1", "1 ", "+1", "-", "1e", "0x1", "一"],
  ...[31n, 32n, 63n, 64n].flatMap((bits) => [...AROUND(2n ** bits - 1n), ...AROUND(-(2n ** bits))]),
];
const NUMBERS = [
  ...["0", "-0.5", "1.5", "1e3", "1E+2", "1e-2", "NaN", "Infinity", "-Infinity"],
  ...["nan", "+1", ".5", "5.", "1e", "--1", "", "Inf", "01"],
];
const BASE64 = [
  "",
  "AQ",
  "AQ==",
  "AQI",
  "AQI=",
  "AQID",
  "_-A",
  "/+A=",
  "A",
  "AQ=",
  "AQIDA",
  "A===",
  "AQ==AQ==",
  "A Q=",
];
const TIMES = [
  ...["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.123456789+23:59", "0001-01-01T00:00:00Z"],
  ...["9999-12-31T23:59:59.999999999Z", "0000-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-32T00:00:00Z"],
  ...["2026-01-31t12:00:00z", "2026-01-31T24:00:00Z", "2026-01-31T12:00:60Z", "2026-01-31", "2026-01-31T12:00:00"],
  ...["2026-01-31T12:00:00.Z", "2026-01-31T12:00:00.1234567890Z", "2026-01-31T12:00:00+24:00", "12026-01-31T12:00:00Z"],
];
const DURATIONS = [
  ...["0s", "1s", "-1.5s", "0.000000001s", "315576000000s", "-315576000000s", "315576000001s", "999999999999s"],
  ...["1", "1.s", ".5s", "1.0000000001s", "+1s", "1e3s", "s", ""],
];
const MASKS = ["", "a", "aB.c,d", "a,", ",a", "a,,b", "a_b"];

const rows: [schema: string, message: string, field: string, values: readonly string[]][] = [
  ["number-int32", "json.Implicit", "int32", INTEGERS],
  ["number-uint32", "json.Implicit", "fixed32", INTEGERS],
  ["number-int64", "json.Implicit", "sint64", INTEGERS],
  ["number-uint64", "json.Implicit", "uint64", INTEGERS],
  ["number-double", "json.Implicit", "double", NUMBERS],
  ["number-float", "json.Implicit", "float", NUMBERS],
  ["bytes-base64", "json.Implicit", "bytes", BASE64],
  ["google.protobuf.Timestamp", "json.WellKnown", "timestamp", TIMES],
  ["google.protobuf.Duration", "json.WellKnown", "duration", DURATIONS],
  ["google.protobuf.FieldMask", "json.WellKnown", "mask", MASKS],
];

for (const [schema, message, field, values] of rows) {
  t.test(`${schema} in a string`, async (t) => {
    const pattern = patternOf(schema);
    for (const value of values)
      t.equal(pattern.test(value), reads(message, field, JSON.stringify(value)), value || "(empty)");
  });
}

t.test("map keys have the limits of their type", async (t) => {
  const { properties } = schemas["json.Maps-input"];
  for (const field of ["int32", "uint64", "fixed32", "sint64"]) {
    const pattern = new RegExp(properties[field].propertyNames.pattern, "u");
    // Both are the key 0. A document cannot say that they are equal.
    for (const key of INTEGERS.filter((one) => one !== "-0")) {
      t.equal(pattern.test(key), reads("json.Maps", field, `{${JSON.stringify(key)}:0}`), `${field}: ${key}`);
    }
  }
  t.same(properties.bool.propertyNames, { enum: ["true", "false"] });
  t.equal(properties.string.propertyNames, undefined);
});

t.test("the limits of numbers in the text are exactly the limits that the gateway reads", async (t) => {
  for (const name of ["int32", "uint32", "int64", "uint64"]) {
    const object = new RegExp(`"number-${name}-input":.*?"minimum":(-?\\d+),"exclusiveMaximum":(\\d+)`).exec(text);
    const [minimum, beyond] = [BigInt(object?.[1] ?? 1), BigInt(object?.[2] ?? 0)];
    for (const value of [minimum, beyond - 1n]) t.ok(reads("json.Implicit", name, `${value}`), `${name}: ${value}`);
    for (const value of [minimum - 1n, beyond]) t.notOk(reads("json.Implicit", name, `${value}`), `${name}: ${value}`);
  }
});
