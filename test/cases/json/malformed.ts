/** Texts that are not JSON, and how much of them an error repeats. */
import { nested } from "./accepted.js";
import { bytes, INT32, type RefusedJson } from "./refused.js";

export const malformed: readonly RefusedJson[] = [
  // The whole text.
  { type: "Optional", json: "", because: "line 1, column 1: expected a value, got the end of the input" },
  { type: "Optional", json: " \n ", because: "line 2, column 2: expected a value, got the end of the input" },
  { type: "Optional", json: "null", because: "expected an object, got null" },
  { type: "Optional", json: "[]", because: "expected an object, got an array" },
  { type: "Optional", json: '"a"', because: 'expected an object, got "a"' },
  { type: "Optional", json: "{}{}", because: "line 1, column 3: expected nothing after the value, got an object" },
  { type: "Optional", json: "{} \u0000", because: "line 1, column 4: expected nothing after the value, got \\u0000" },
  {
    type: "Optional",
    json: bytes("", [0xef, 0xbb, 0xbf], "{}"),
    because: 'line 1, column 1: expected a value, got "\\ufeff"',
  },
  { type: "Optional", json: "{", because: "line 1, column 2: expected a name in quotes, got the end of the input" },
  { type: "Optional", json: '{"int32"', because: 'line 1, column 9: expected ":", got the end of the input' },
  { type: "Optional", json: '{"int32":', because: "line 1, column 10: expected a value, got the end of the input" },
  { type: "Optional", json: '{"int32":1', because: 'line 1, column 11: expected "," or "}", got the end of the input' },
  { type: "Optional", json: '{"int32":1,}', because: 'line 1, column 12: expected a name in quotes, got "}"' },
  { type: "Optional", json: "{'int32':1}", because: "line 1, column 2: expected a name in quotes, got 'int32'" },
  { type: "Optional", json: "{int32:1}", because: "line 1, column 2: expected a name in quotes, got int32" },
  {
    type: "Optional",
    json: '{\n  "int32": 1\n  "bool": true\n}',
    because: 'line 3, column 3: expected "," or "}", got "bool"',
  },
  { type: "Optional", json: '{/**/"int32":1}', because: "line 1, column 2: expected a name in quotes, got /**/" },
  { type: "Optional", json: '{"int32":\u00a01}', because: 'line 1, column 10: expected a value, got "\u00a0"' },
  {
    type: "Optional",
    json: nested(64, "{}"),
    because: `…${".nested".repeat(10).slice(-39)}: nested more than 64 levels deep`,
  },
  {
    type: "WellKnown",
    json: `{"list":${"[".repeat(100_000)}`,
    because: "…[0][0][0][0][0][0][0][0][0][0][0][0][0]: nested more than 64 levels deep",
  },

  // An error repeats at most 64 characters of the input.
  { type: "Optional", json: `{"int32":"${"9".repeat(1000)}"}`, because: `int32: ${INT32}, got "${"9".repeat(22)}…` },
  {
    type: "Optional",
    json: `{"${"x".repeat(1000)}":1}`,
    because: `…${"x".repeat(39)}: no such field in json.Optional`,
  },
  { type: "Maps", json: `{"int32":{"${"1".repeat(1000)}":1}}`, because: `int32: ${INT32}, got "${"1".repeat(22)}…` },
  {
    type: "Maps",
    json: `{"message":{"${"k".repeat(1000)}":{"string":${"1".repeat(1000)}}}}`,
    because: `…${"k".repeat(32)}.string: expected a string, got ${"1".repeat(23)}…`,
  },
  { type: "Optional", json: `{"int32":"a${"😀".repeat(20)}"}`, because: `int32: ${INT32}, got "a${"😀".repeat(10)}…` },
  {
    type: "Optional",
    json: `{"${"😀".repeat(30)}":1}`,
    because: `…${"😀".repeat(18)}"]: no such field in json.Optional`,
  },
  // Characters that are invisible, or change the direction of text, are escaped.
  { type: "Maps", json: '{"string":{"\u202e":1}}', because: 'string["\\u202e"]: expected a string, got 1' },
  { type: "Optional", json: '{"int32":"\u{e0041}"}', because: `int32: ${INT32}, got "\\udb40\\udc41"` },
];
