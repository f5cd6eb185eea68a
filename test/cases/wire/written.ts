/** Messages that a service may send, and the JSON for them. */
import { double, fixed32, float, group, joined, message, raw, type Wire } from "./encode.js";

const ZEROS =
  '{"double":0,"float":0,"int32":0,"int64":"0","uint32":0,"uint64":"0","sint32":0,"sint64":"0","fixed32":0,' +
  '"fixed64":"0","sfixed32":0,"sfixed64":"0","bool":false,"string":"","bytes":"","color":"COLOR_NONE"}';

export const written: readonly (Wire & { json: string })[] = [
  { type: "Implicit", title: "fields without presence are always there", wire: message(), json: ZEROS },
  {
    type: "Lists",
    title: "lists are always there, even if they are empty",
    wire: message([3, 1]),
    json: '{"double":[],"float":[],"int32":[1],"int64":[],"uint32":[],"uint64":[],"sint32":[],"sint64":[],"fixed32":[],"fixed64":[],"sfixed32":[],"sfixed64":[],"bool":[],"string":[],"bytes":[],"color":[],"message":[],"unpacked":[],"value":[],"null":[],"wrapped":[]}',
  },
  {
    type: "Optional",
    title: "fields with presence are there only if they are set",
    wire: message([3, 0]),
    json: '{"int32":0,"lastColor":"COLOR_NONE"}',
  },
  {
    type: "Implicit",
    title: "a message has presence",
    wire: message([17, message()]),
    json: `${ZEROS.slice(0, -1)},"nested":${ZEROS}}`,
  },
];

/** Cases that omit zeros, so that the expected JSON is short. */
export const writtenWithoutZeros: readonly (Wire & { json: string })[] = [
  {
    type: "Implicit",
    title: "zeros on the wire are left out",
    wire: message(
      ...[3, 4, 5, 6, 7, 8, 13, 16].map((number): [number, number] => [number, 0]),
      [14, ""],
      [15, raw()],
      double(1, 0),
      float(2, 0),
      fixed32(9, 0),
      fixed32(11, 0),
    ),
    json: "{}",
  },
  {
    type: "Implicit",
    title: "zeros written at length, and the last one counts",
    wire: joined(raw(0x18, 0x80, 0x80, 0x00), message([5, 7], [5, 0], [14, "a"], [14, ""])),
    json: "{}",
  },
  { type: "Implicit", title: "-0 is no zero", wire: message(double(1, -0)), json: '{"double":-0}' },
  {
    type: "Optional",
    title: "zeros of fields with presence",
    wire: message([3, 0], [14, ""]),
    json: '{"int32":0,"string":""}',
  },
  { type: "Lists", title: "empty lists on the wire", wire: message([3, raw()], [18, raw()]), json: "{}" },
  { type: "Lists", title: "lists of zeros", wire: message([3, raw(0)], [14, ""]), json: '{"int32":[0],"string":[""]}' },
  {
    type: "Optional",
    title: "the last value of a singular field counts",
    wire: message([3, 1], [14, "a"], [3, 2]),
    json: '{"int32":2,"string":"a"}',
  },
  { type: "Optional", title: "any order", wire: message([14, "a"], [3, 1]), json: '{"int32":1,"string":"a"}' },
  {
    type: "Optional",
    title: "messages are merged",
    wire: message([17, message([3, 1], [14, "a"])], [17, message([3, 2])]),
    json: '{"nested":{"int32":2,"string":"a"}}',
  },
  {
    type: "Optional",
    title: "a message in separate fields is merged",
    wire: message([17, message([3, 1])], [3, 5], [17, message([14, "a"])]),
    json: '{"int32":5,"nested":{"int32":1,"string":"a"}}',
  },
  {
    type: "Lists",
    title: "a list in separate fields is one list",
    wire: message([3, 1], [14, "a"], [3, 2], [14, "b"], [3, 3]),
    json: '{"int32":[1,2,3],"string":["a","b"]}',
  },
  {
    type: "Lists",
    title: "packed and not, whatever was declared",
    wire: message([3, raw(1, 2)], [3, 3], [3, raw()], [18, raw(4, 5)], [18, 6]),
    json: '{"int32":[1,2,3],"unpacked":[4,5,6]}',
  },
  {
    type: "Lists",
    title: "packed fixed",
    wire: message([9, raw(1, 0, 0, 0, 2, 0, 0, 0)], fixed32(9, 3)),
    json: '{"fixed32":[1,2,3]}',
  },
  { type: "Choice", title: "the last member of a oneof counts", wire: message([1, "a"], [2, 1]), json: '{"number":1}' },
  {
    type: "Choice",
    title: "the last member of a oneof counts, whatever its number",
    wire: message([2, 1], [1, "a"]),
    json: '{"text":"a"}',
  },
  {
    type: "Choice",
    title: "a replaced member of a oneof is not merged with the new one",
    wire: message([3, message([3, 1])], [1, "a"], [3, message([14, "b"])]),
    json: '{"message":{"string":"b"}}',
  },
  {
    type: "Choice",
    title: "a message of a oneof in several fields is merged",
    wire: message([3, message([3, 1])], [7, 1], [3, message([14, "b"])]),
    json: '{"message":{"int32":1,"string":"b"},"yes":true}',
  },
  { type: "Choice", title: "two oneofs", wire: message([7, 1], [1, "a"], [8, 1]), json: '{"text":"a","no":true}' },
  {
    type: "Maps",
    title: "the last of equal keys counts",
    wire: message([1, message([1, "a"], [2, "1"])], [1, message([1, "b"], [2, "2"])], [1, message([1, "a"], [2, "3"])]),
    json: '{"string":{"b":"2","a":"3"}}',
  },
  {
    type: "Maps",
    title: "equal keys, written differently",
    wire: message([2, joined(raw(0x08, 0x81, 0x00), message([2, 1]))], [2, message([1, 1], [2, 2])]),
    json: '{"int32":{"1":2}}',
  },
  {
    type: "Maps",
    title: "booleans are true when they are not zero",
    wire: message([12, message([1, 2], [2, 1])], [12, message([1, 1], [2, 0])]),
    json: '{"bool":{"true":false}}',
  },
  {
    type: "Maps",
    title: "a missing key or value of an entry is zero",
    wire: message([1, message()], [2, message([1, 5])], [17, message([1, "a"])], [16, message([1, "c"])]),
    json: '{"string":{"":""},"int32":{"5":0},"color":{"c":"COLOR_NONE"},"message":{"a":{}}}',
  },
  {
    type: "Maps",
    title: "entries in any order, with unknown fields",
    wire: message([1, message([2, "1"], [9, 9], [1, "a"])]),
    json: '{"string":{"a":"1"}}',
  },
  {
    type: "Maps",
    title: "a message as value, in several fields",
    wire: message([17, message([1, "a"], [2, message([3, 1])], [2, message([14, "b"])])]),
    json: '{"message":{"a":{"int32":1,"string":"b"}}}',
  },
  {
    type: "Maps",
    title: "keys are escaped",
    wire: message([1, message([1, '"\\\n__proto__'], [2, ""])]),
    json: '{"string":{"\\"\\\\\\n__proto__":""}}',
  },
  {
    type: "Optional",
    title: "unknown fields are left out",
    wire: message(
      [100, 1],
      [3, 1],
      [101, "a"],
      fixed32(102, 1),
      double(103, 1),
      group(104, message([1, 1], group(2, message()))),
    ),
    json: '{"int32":1}',
  },
  {
    type: "Optional",
    title: "so is one with a wire type that is not its own",
    wire: message([3, "a"], [14, 1], fixed32(3, 1)),
    json: "{}",
  },
  {
    type: "Optional",
    title: "int32 uses the low bits of a longer varint",
    wire: message([3, 0x1_0000_0001n], [5, 0x1_0000_0002n], [13, 0x1_0000_0000n]),
    json: '{"int32":1,"uint32":2,"bool":true}',
  },
  {
    type: "Optional",
    title: "negative in five bytes",
    wire: joined(raw(0x18), raw(0xff, 0xff, 0xff, 0xff, 0x0f)),
    json: '{"int32":-1}',
  },
  {
    type: "Optional",
    title: "a tag in more bytes than it needs",
    wire: raw(0x98, 0x80, 0x00, 0x01),
    json: '{"int32":1}',
  },
  {
    type: "Optional",
    title: "integers at their limits",
    wire: message(
      [4, 0x8000_0000_0000_0000n],
      [6, 0xffff_ffff_ffff_ffffn],
      [7, 0xffff_ffffn],
      [8, 0xffff_ffff_ffff_ffffn],
    ),
    json: '{"int64":"-9223372036854775808","uint64":"18446744073709551615","sint32":-2147483648,"sint64":"-9223372036854775808"}',
  },
  {
    type: "Optional",
    title: "numbers as JavaScript has them",
    wire: message(double(1, 1e21), float(2, 0.3)),
    json: '{"double":1e+21,"float":0.3}',
  },
  {
    type: "Optional",
    title: "small numbers",
    wire: message(double(1, 1e-7), float(2, 1.17549435e-38)),
    json: '{"double":1e-7,"float":1.1754944e-38}',
  },
  {
    type: "Lists",
    title: "decimals",
    wire: message(
      ...[0.1, 0.000001, 123456789.123456, 0.1 + 0.2, -1.5, 999999999.999999, 4.35, 1e9 + 0.5].map((value) =>
        double(1, value),
      ),
    ),
    json: '{"double":[0.1,0.000001,123456789.123456,0.30000000000000004,-1.5,999999999.999999,4.35,1000000000.5]}',
  },
  {
    type: "Lists",
    title: "not finite",
    wire: message(double(1, Number.NaN), double(1, -Infinity), float(2, Infinity), double(1, -0)),
    json: '{"double":["NaN","-Infinity",-0],"float":["Infinity"]}',
  },
  { type: "Optional", title: "an enum's number where it has no name", wire: message([16, 77]), json: '{"color":77}' },
  { type: "Optional", title: "a high field number", wire: message([536870911, 1]), json: '{"lastColor":"COLOR_RED"}' },
  {
    type: "WellKnown",
    title: "an empty timestamp and duration",
    wire: message([2, message()], [3, message()]),
    json: '{"timestamp":"1970-01-01T00:00:00Z","duration":"0s"}',
  },
  {
    type: "WellKnown",
    title: "a timestamp in several fields",
    wire: message([2, message([1, 1])], [2, message([2, 5])]),
    json: '{"timestamp":"1970-01-01T00:00:01.000000005Z"}',
  },
  {
    type: "WellKnown",
    title: "a negative duration below a second",
    wire: message([3, message([2, -1])]),
    json: '{"duration":"-0.000000001s"}',
  },
  {
    type: "WellKnown",
    title: "the last kind of a Value counts",
    wire: message([6, message([3, "a"], [4, 1])]),
    json: '{"value":true}',
  },
  {
    type: "WellKnown",
    title: "a struct in several fields",
    wire: message([
      6,
      message(
        [5, message([1, message([1, "a"], [2, message([1, 0])])])],
        [5, message([1, message([1, "b"], [2, message([4, 1])])])],
      ),
    ]),
    json: '{"value":{"a":null,"b":true}}',
  },
  { type: "WellKnown", title: "any of an empty URL", wire: message([1, message([1, ""])]), json: '{"any":{}}' },
  {
    type: "WellKnown",
    title: "any whose last URL is empty",
    wire: message([1, message([1, "example.com/json.Optional"], [1, ""])]),
    json: '{"any":{}}',
  },
  { type: "WellKnown", title: "any of nothing", wire: message([1, message()]), json: '{"any":{}}' },
  {
    type: "WellKnown",
    title: "any keeps its URL",
    wire: message([1, message([1, "example.com/x/json.Optional"], [2, message([3, 1])])]),
    json: '{"any":{"@type":"example.com/x/json.Optional","int32":1}}',
  },
  {
    type: "WellKnown",
    title: "a field mask",
    wire: message([4, message([1, "foo_bar.baz"], [1, "c_d"])]),
    json: '{"mask":"fooBar.baz,cD"}',
  },
  { type: "WellKnown", title: "null, whatever its number", wire: message([18, 3]), json: '{"null":null}' },
  {
    type: "legacy.Legacy",
    title: "what a closed enum does not have is not there",
    wire: message(
      [3, 9],
      [4, 2],
      [4, 9],
      [5, raw(3, 9, 2)],
      [6, message([1, "a"], [2, 9])],
      [6, message([1, "b"], [2, 3])],
    ),
    json: '{"shades":["DARK"],"packedShades":["LIGHT","DARK"],"byName":{"b":"LIGHT"}}',
  },
  {
    type: "legacy.Legacy",
    title: "an unknown number of a closed enum does not replace an earlier value",
    wire: message([3, 3], [3, 9], [10, 2], [11, 9]),
    json: '{"shade":"LIGHT","one":"DARK"}',
  },
  {
    type: "legacy.Legacy",
    title: "groups, merged and in lists",
    wire: message(
      group(7, message([1, 1])),
      group(7, message([2, message([1, 2])])),
      group(8, message()),
      group(8, message([1, 3])),
    ),
    json: '{"group":{"number":1,"nested":{"number":2}},"groups":[{},{"number":3}]}',
  },
  {
    type: "legacy.Legacy",
    title: "extensions",
    wire: message([100, 1], [101, "a"], [101, "b"], [102, message([100, 2])], [150, 1]),
    json: '{"[json.legacy.extended]":1,"[json.legacy.many]":["a","b"],"[json.legacy.deep]":{"[json.legacy.extended]":2}}',
  },
  {
    type: "legacy.Legacy",
    title: "text that the contract does not check",
    wire: message([2, raw(0x61, 0xff)]),
    json: '{"text":"a\ufffd"}',
  },
  {
    type: "edition.Edition",
    title: "delimited messages",
    wire: message([3, 1], group(4, message([3, 2])), group(5, message([1, "a"]))),
    json: '{"required":1,"delimited":{"required":2},"inners":[{"name":"a"}]}',
  },
];
