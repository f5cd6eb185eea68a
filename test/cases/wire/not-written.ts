/** Malformed messages, and the errors for them. */
import { double, joined, message, raw, type Wire } from "./encode.js";

const deep = (levels: number): Uint8Array => (levels === 0 ? message() : message([17, deep(levels - 1)]));
const deepValue = (levels: number): Uint8Array =>
  levels === 0 ? message([1, 0]) : message([6, message([1, deepValue(levels - 1)])]);
const any = (url: string, value: Uint8Array) => message([1, message([1, url], [2, value])]);

export const notWritten: readonly (Wire & { because: RegExp })[] = [
  { type: "Optional", title: "cut short in a tag", wire: raw(0x98), because: /cut short/ },
  { type: "Optional", title: "cut short in a varint", wire: raw(0x18, 0x80), because: /cut short/ },
  { type: "Optional", title: "cut short before a value", wire: raw(0x18), because: /cut short/ },
  { type: "Optional", title: "cut short in a string", wire: raw(0x72, 0x02, 0x61), because: /cut short/ },
  { type: "Optional", title: "cut short in a double", wire: raw(0x09, 0, 0, 0), because: /cut short/ },
  { type: "Optional", title: "cut short in a float", wire: raw(0x15, 0, 0, 0), because: /cut short/ },
  {
    type: "Optional",
    title: "a field that continues after the end of its message",
    wire: joined(raw(0x8a, 0x01, 0x02, 0x18, 0x80), message([3, 5])),
    because: /cut short/,
  },
  {
    type: "Optional",
    title: "a string that continues after the end of its message",
    wire: joined(raw(0x8a, 0x01, 0x02, 0x72, 0x03), raw(0x18, 5, 0x18, 5)),
    because: /cut short/,
  },
  {
    type: "Maps",
    title: "a key that continues after the end of its entry",
    wire: joined(message([1, raw(0x0a, 0x03)]), message([2, raw()], [2, raw()])),
    because: /cut short/,
  },
  {
    type: "Lists",
    title: "packed numbers that do not fill their length",
    wire: message([9, raw(1, 0, 0)]),
    because: /cut short/,
  },
  {
    type: "Lists",
    title: "a packed varint that continues after the end of its list",
    wire: joined(message([3, raw(0x80)]), message([3, 5])),
    because: /cut short/,
  },
  {
    type: "Optional",
    title: "a length of 2^32 and more",
    wire: raw(0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
    because: /cut short/,
  },
  {
    type: "Optional",
    title: "a varint of eleven bytes",
    wire: joined(raw(0x18), raw(...new Array(10).fill(0x80)), raw(0)),
    because: /longer than ten bytes/,
  },
  { type: "Optional", title: "field number 0", wire: raw(0x00, 0x00), because: /number 0/ },
  { type: "Optional", title: "field number 0, once more", wire: raw(0x02, 0x00), because: /number 0/ },
  { type: "Optional", title: "wire type 6", wire: raw(0x1e, 0x00), because: /wire type 6/ },
  { type: "Optional", title: "wire type 7", wire: raw(0x1f, 0x00), because: /wire type 7/ },
  { type: "Optional", title: "an end of a group without a start", wire: raw(0x1c), because: /wire type 4/ },
  { type: "Optional", title: "a group that does not end", wire: raw(0x1b), because: /cut short/ },
  { type: "Optional", title: "a group that ends with another number", wire: raw(0x1b, 0x24), because: /not begun/ },
  { type: "Optional", title: "too deep", wire: deep(101), because: /more than 100 levels/ },
  {
    type: "Optional",
    title: "too deep in unknown groups",
    wire: raw(...new Array(200).fill(0x1b)),
    because: /more than 100 levels/,
  },
  { type: "google.protobuf.Value", title: "values too deep", wire: deepValue(101), because: /more than 100 levels/ },
  { type: "Optional", title: "text that is not UTF-8", wire: message([14, raw(0xff)]), because: /not valid UTF-8/ },
  {
    type: "Optional",
    title: "text that ends within a character",
    wire: message([14, raw(0xe2, 0x82)]),
    because: /not valid UTF-8/,
  },
  {
    type: "Optional",
    title: "half of a surrogate pair",
    wire: message([14, raw(0xed, 0xa0, 0x80)]),
    because: /not valid UTF-8/,
  },
  {
    type: "Maps",
    title: "a key that is not UTF-8",
    wire: message([1, message([1, raw(0xff)])]),
    because: /not valid UTF-8/,
  },
  {
    type: "WellKnown",
    title: "a timestamp before the year 1",
    wire: message([2, message([1, -62135596801])]),
    because: /Timestamp/,
  },
  {
    type: "WellKnown",
    title: "a timestamp after the year 9999",
    wire: message([2, message([1, 253402300800])]),
    because: /Timestamp/,
  },
  { type: "WellKnown", title: "negative nanoseconds", wire: message([2, message([2, -1])]), because: /Timestamp/ },
  {
    type: "WellKnown",
    title: "too many nanoseconds",
    wire: message([2, message([2, 1_000_000_000])]),
    because: /Timestamp/,
  },
  {
    type: "WellKnown",
    title: "a duration out of range",
    wire: message([3, message([1, 315576000001])]),
    because: /Duration/,
  },
  {
    type: "WellKnown",
    title: "a duration of two signs",
    wire: message([3, message([1, 1], [2, -1])]),
    because: /Duration/,
  },
  {
    type: "WellKnown",
    title: "a field mask that cannot be converted back",
    wire: message([4, message([1, "fooBar"])]),
    because: /FieldMask/,
  },
  {
    type: "WellKnown",
    title: "a field mask with an underscore and a digit",
    wire: message([4, message([1, "foo_3"])]),
    because: /FieldMask/,
  },
  {
    type: "WellKnown",
    title: "a field mask with two underscores",
    wire: message([4, message([1, "foo__bar"])]),
    because: /FieldMask/,
  },
  {
    type: "WellKnown",
    title: "a field mask with an empty path",
    wire: message([4, message([1, "a"], [1, ""])]),
    because: /FieldMask/,
  },
  { type: "WellKnown", title: "a Value without a kind", wire: message([6, message()]), because: /Value has no value/ },
  {
    type: "WellKnown",
    title: "a value that is NaN",
    wire: message([6, message(double(2, Number.NaN))]),
    because: /NaN or infinite/,
  },
  {
    type: "WellKnown",
    title: "a value that is infinite",
    wire: message([6, message(double(2, Infinity))]),
    because: /NaN or infinite/,
  },
  {
    type: "WellKnown",
    title: "any with a broken message",
    wire: any("a/json.Optional", raw(0x18)),
    because: /cut short/,
  },
  {
    type: "legacy.Needs",
    title: "a required field that is missing",
    wire: message([1, "a"]),
    because: /json\.legacy\.Needs lacks the required field inner/,
  },
];
