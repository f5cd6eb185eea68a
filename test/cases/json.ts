/** What JSON means, to the letter. Types are those of test/json/*.proto. */

export interface AcceptedJson {
  readonly type: string;
  readonly json: string;
  /** The same message as it is written again. Where it is missing, that is `json`. */
  readonly again?: string;
}

export interface RefusedJson {
  readonly type: string;
  readonly json: string | Uint8Array;
  readonly because: string;
}

const nested = (depth: number, innermost: string): string =>
  `${'{"nested":'.repeat(depth)}${innermost}${"}".repeat(depth)}`;

const INT32 = "expected an integer from -2147483648 to 2147483647";
const UINT32 = "expected an integer from 0 to 4294967295";
const INT64 = "expected an integer from -9223372036854775808 to 9223372036854775807";
const UINT64 = "expected an integer from 0 to 18446744073709551615";
const FLOAT = "expected a number in the range of a 32-bit float";
const TIME = 'expected a time from 0001 to 9999 such as "2006-01-02T15:04:05.5Z"';
const DURATION = 'expected a duration of at most 315576000000 seconds such as "1.5s"';
const COLOR = "expected a name or number of json.Color (COLOR_NONE, COLOR_RED, COLOR_ROUGE, COLOR_BLUE)";
const SHADE = "expected a name or number of json.legacy.Shade (DARK, LIGHT)";

export const accepted: readonly AcceptedJson[] = [
  // Integers: exact whatever their size, in quotes or not, with a fraction or exponent as long as they are integers.
  { type: "Optional", json: '{"int64":9007199254740993}', again: '{"int64":"9007199254740993"}' },
  { type: "Optional", json: '{"int64":-9007199254740993}', again: '{"int64":"-9007199254740993"}' },
  { type: "Optional", json: '{"int64":9223372036854775807}', again: '{"int64":"9223372036854775807"}' },
  { type: "Optional", json: '{"int64":-9223372036854775808}', again: '{"int64":"-9223372036854775808"}' },
  { type: "Optional", json: '{"int64":"-9223372036854775808"}' },
  { type: "Optional", json: '{"int64":922337203685477580.7e1}', again: '{"int64":"9223372036854775807"}' },
  { type: "Optional", json: '{"int64":9.223372036854775807E+18}', again: '{"int64":"9223372036854775807"}' },
  { type: "Optional", json: '{"uint64":18446744073709551615}', again: '{"uint64":"18446744073709551615"}' },
  { type: "Optional", json: '{"uint64":18446744073709551615.000}', again: '{"uint64":"18446744073709551615"}' },
  { type: "Optional", json: '{"uint64":4294967296}', again: '{"uint64":"4294967296"}' },
  { type: "Optional", json: '{"uint64":9007199254740992}', again: '{"uint64":"9007199254740992"}' },
  { type: "Optional", json: '{"uint64":"999999999999999999"}' },
  { type: "Optional", json: '{"uint64":"1000000000000000000"}' },
  { type: "Optional", json: '{"uint64":"10000000000000000000"}' },
  { type: "Optional", json: '{"sint64":"-4611686018427387905"}' },
  { type: "Optional", json: '{"sint64":"-9223372036854775808"}' },
  { type: "Optional", json: '{"fixed64":"18446744073709551615"}' },
  { type: "Optional", json: '{"sfixed64":"-1"}' },
  { type: "Optional", json: '{"int32":-2147483648}' },
  { type: "Optional", json: '{"int32":2147483647}' },
  { type: "Optional", json: '{"int32":999999999}' },
  { type: "Optional", json: '{"int32":1000000000}' },
  { type: "Optional", json: '{"int32":"-1"}', again: '{"int32":-1}' },
  { type: "Optional", json: '{"int32":1e3}', again: '{"int32":1000}' },
  { type: "Optional", json: '{"int32":1.0}', again: '{"int32":1}' },
  { type: "Optional", json: '{"int32":"1.0e1"}', again: '{"int32":10}' },
  { type: "Optional", json: '{"int32":1000e-3}', again: '{"int32":1}' },
  { type: "Optional", json: '{"int32":0e999999999999}', again: '{"int32":0}' },
  { type: "Optional", json: '{"int32":0.0e-999999999999}', again: '{"int32":0}' },
  { type: "Optional", json: `{"int32":1${"0".repeat(5000)}e-5000}`, again: '{"int32":1}' },
  { type: "Optional", json: '{"int32":-0}', again: '{"int32":0}' },
  { type: "Optional", json: '{"uint32":-0.0}', again: '{"uint32":0}' },
  { type: "Optional", json: '{"uint32":4294967295}' },
  { type: "Optional", json: '{"sint32":-2147483648}' },
  { type: "Optional", json: '{"fixed32":4294967295}' },
  { type: "Optional", json: '{"sfixed32":-2147483648}' },
  { type: "Optional", json: '{"int32":"\\u0031\\u0032"}', again: '{"int32":12}' },

  // Floating point: -0 stays, and what a 32-bit float is comes back with the digits that tell it.
  { type: "Optional", json: '{"double":-0}' },
  { type: "Optional", json: '{"double":-0.0}', again: '{"double":-0}' },
  { type: "Optional", json: '{"double":"-0"}', again: '{"double":-0}' },
  { type: "Optional", json: '{"float":-0}' },
  { type: "Implicit", json: '{"double":-0,"float":-0}', again: '{"double":-0,"float":-0}' },
  { type: "Optional", json: '{"double":0.1}' },
  { type: "Optional", json: '{"double":1e+23}' },
  { type: "Optional", json: '{"double":8.5e-7}' },
  { type: "Optional", json: '{"double":123456789012345680000}' },
  { type: "Optional", json: '{"double":9007199254740993}', again: '{"double":9007199254740992}' },
  {
    type: "Optional",
    json: '{"double":0.1000000000000000055511151231257827021181583404541015625}',
    again: '{"double":0.1}',
  },
  { type: "Optional", json: '{"double":1.7976931348623157e+308}' },
  { type: "Optional", json: '{"double":5e-324}' },
  { type: "Optional", json: '{"double":1e-999999999999}', again: '{"double":0}' },
  { type: "Optional", json: '{"double":"1.5"}', again: '{"double":1.5}' },
  { type: "Optional", json: '{"double":"NaN"}' },
  { type: "Optional", json: '{"double":"Infinity"}' },
  { type: "Optional", json: '{"float":"-Infinity"}' },
  { type: "Optional", json: '{"float":0.1}' },
  { type: "Optional", json: '{"float":3.4028235e+38}' },
  { type: "Optional", json: '{"float":1e-45}', again: '{"float":1.4013e-45}' },
  { type: "Optional", json: '{"float":16777217}', again: '{"float":16777216}' },
  { type: "Optional", json: '{"float":8388608.5}', again: '{"float":8388608}' },

  // Strings.
  { type: "Optional", json: '{"string":""}' },
  { type: "Optional", json: '{"string":"äöü 漢字 🎉"}' },
  { type: "Optional", json: '{"string":"\\u00e4\\ud83c\\udf89\\u0000"}', again: '{"string":"ä🎉\\u0000"}' },
  { type: "Optional", json: '{"string":"\\"\\\\\\/\\b\\f\\n\\r\\t"}', again: '{"string":"\\"\\\\/\\b\\f\\n\\r\\t"}' },
  { type: "Optional", json: `{"string":"${"x".repeat(127)}"}` },
  { type: "Optional", json: `{"string":"${"x".repeat(128)}"}` },
  { type: "Optional", json: `{"string":"${"é".repeat(40_000)}"}` },
  { type: "Optional", json: `{"string":"${"漢".repeat(30_000)}"}` },
  { type: "Optional", json: `{"string":"${"🎉a".repeat(20_000)}"}` },
  { type: "Optional", json: `{"string":"${"\\u0001".repeat(20_000)}"}` },
  { type: "Optional", json: '{"string":"\u2028\u2029\u007f"}' },

  // Bytes in either alphabet, with or without padding.
  { type: "Optional", json: '{"bytes":""}' },
  { type: "Optional", json: '{"bytes":"-_-_"}', again: '{"bytes":"+/+/"}' },
  { type: "Optional", json: '{"bytes":"+/+/"}' },
  { type: "Optional", json: '{"bytes":"AQ"}', again: '{"bytes":"AQ=="}' },
  { type: "Optional", json: '{"bytes":"AQI"}', again: '{"bytes":"AQI="}' },
  { type: "Optional", json: '{"bytes":"AQID"}' },
  { type: "Optional", json: '{"bytes":"AQ\\u003d="}', again: '{"bytes":"AQ=="}' },
  { type: "Optional", json: `{"bytes":"${"AQID".repeat(30_000)}"}` },

  // Enums by name or number; an open one takes any number, and an alias is written by its first name.
  { type: "Optional", json: '{"color":"COLOR_BLUE"}' },
  { type: "Optional", json: '{"color":1}', again: '{"color":"COLOR_RED"}' },
  { type: "Optional", json: '{"color":-2}', again: '{"color":"COLOR_BLUE"}' },
  { type: "Optional", json: '{"color":"COLOR_ROUGE"}', again: '{"color":"COLOR_RED"}' },
  { type: "Optional", json: '{"color":77}' },
  { type: "Optional", json: '{"color":1.0}', again: '{"color":"COLOR_RED"}' },
  {
    type: "legacy.Legacy",
    json: '{"shade":"LIGHT","shades":["DARK",3]}',
    again: '{"shade":"LIGHT","shades":["DARK","LIGHT"]}',
  },

  // Both names of a field, however written.
  { type: "Optional", json: '{"longName":"a"}' },
  { type: "Optional", json: '{"long_name":"a"}', again: '{"longName":"a"}' },
  { type: "Optional", json: '{"l\\u006fngName":"a"}', again: '{"longName":"a"}' },
  { type: "Optional", json: '{"a naïve \\"name\\"":"a"}' },
  { type: "Optional", json: '{"other":"a"}', again: '{"a naïve \\"name\\"":"a"}' },
  { type: "Optional", json: '{"string":"b","double":1}', again: '{"double":1,"string":"b"}' },
  { type: "Optional", json: ' {\t"bool"\r\n:\ttrue , "int32" : 1 } ', again: '{"int32":1,"bool":true}' },

  // Null is as if the field were not given, but where it is a value.
  { type: "Optional", json: '{"string":null,"nested":null,"color":null}', again: "{}" },
  { type: "Lists", json: '{"string":null,"message":null}', again: "{}" },
  { type: "Maps", json: '{"string":null}', again: "{}" },
  { type: "Choice", json: '{"text":null,"number":1}', again: '{"number":1}' },
  { type: "Choice", json: '{"message":null,"number":1}', again: '{"number":1}' },
  { type: "Choice", json: '{"nothing":null}' },
  { type: "Choice", json: '{"nothing":"NULL_VALUE"}', again: '{"nothing":null}' },
  { type: "Choice", json: '{"value":null}' },
  {
    type: "WellKnown",
    json: '{"value":null,"null":null,"string":null,"any":null,"timestamp":null}',
    again: '{"value":null,"null":null}',
  },
  { type: "Lists", json: '{"value":[null,1],"null":[null]}' },
  { type: "Maps", json: '{"value":{"a":null},"null":{"b":null}}' },

  // Zeros: of a oneof and of fields with presence they count.
  { type: "Choice", json: '{"number":0}' },
  { type: "Choice", json: '{"text":"","yes":false}' },
  { type: "Optional", json: '{"double":0,"string":"","color":"COLOR_NONE","nested":{}}' },

  // Lists, packed and not.
  {
    type: "Lists",
    json: '{"int32":[1,-1,0],"string":["","a"],"bytes":["","AQ=="],"message":[{},{"int32":1}],"unpacked":[1,2]}',
  },
  { type: "Lists", json: '{"double":[1.5,-0],"float":[0.1],"bool":[true,false],"color":["COLOR_RED",5]}' },
  { type: "Lists", json: '{"int64":["1"],"uint64":["2"],"sint64":["-3"],"fixed64":["4"],"sfixed64":["-5"]}' },
  { type: "Lists", json: '{"uint32":[1],"sint32":[-2],"fixed32":[3],"sfixed32":[-4]}' },
  { type: "Lists", json: '{"wrapped":["a",""]}' },
  { type: "Lists", json: `{"int32":[${Array.from({ length: 20_000 }, (_, at) => at).join()}]}` },
  { type: "Lists", json: '{"int32":[]}', again: "{}" },

  // Maps: keys of every type. Names that mean something in JavaScript are keys as any.
  { type: "Maps", json: '{"string":{"__proto__":"a","constructor":"b","toString":"c","":"d"}}' },
  { type: "Maps", json: '{"int32":{"-2147483648":1},"int64":{"9223372036854775807":"1"},"uint32":{"4294967295":1}}' },
  { type: "Maps", json: '{"uint64":{"18446744073709551615":"1"},"sint32":{"-1":-1},"sint64":{"-1":"-1"}}' },
  { type: "Maps", json: '{"fixed32":{"1":1},"fixed64":{"1":"1"},"sfixed32":{"-1":-1},"sfixed64":{"-1":"-1"}}' },
  { type: "Maps", json: '{"bool":{"true":false,"false":true}}' },
  { type: "Maps", json: '{"int32":{"-0":1}}', again: '{"int32":{"0":1}}' },
  { type: "Maps", json: '{"bytes":{"d":"AQ=="},"color":{"c":"COLOR_RED"},"message":{"a":{"int32":1},"b":{}}}' },
  { type: "Maps", json: '{"double":{"a":-0},"float":{"a":0.1},"timestamp":{"a":"1970-01-01T00:00:00Z"}}' },
  { type: "Maps", json: '{"string":{"\\u0061":"1","b":"\\u0031"}}', again: '{"string":{"a":"1","b":"1"}}' },
  { type: "Maps", json: `{"int32":{${Array.from({ length: 5_000 }, (_, at) => `"${at}":${at}`).join()}}}` },
  { type: "Prototype", json: '{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d"}' },

  // Well-known types.
  { type: "WellKnown", json: '{"timestamp":"0001-01-01T00:00:00Z"}' },
  { type: "WellKnown", json: '{"timestamp":"9999-12-31T23:59:59.999999999Z"}' },
  {
    type: "WellKnown",
    json: '{"timestamp":"2000-02-29T12:00:00+05:30"}',
    again: '{"timestamp":"2000-02-29T06:30:00Z"}',
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"1969-12-31T23:59:59.5Z"}',
    again: '{"timestamp":"1969-12-31T23:59:59.500Z"}',
  },
  { type: "WellKnown", json: '{"timestamp":"1970-01-01T00:00:00.000001Z"}' },
  { type: "WellKnown", json: '{"timestamp":"2038-01-19T03:14:08Z"}' },
  { type: "WellKnown", json: '{"duration":"315576000000.999999999s"}' },
  { type: "WellKnown", json: '{"duration":"-315576000000s"}' },
  { type: "WellKnown", json: '{"duration":"-0.5s"}', again: '{"duration":"-0.500s"}' },
  { type: "WellKnown", json: '{"duration":"1.000340012s"}' },
  { type: "WellKnown", json: '{"duration":"0s"}' },
  { type: "WellKnown", json: '{"mask":"a,fooBar.bazQux,c1"}' },
  { type: "WellKnown", json: '{"mask":""}' },
  { type: "WellKnown", json: '{"mask":"*"}' },
  { type: "WellKnown", json: '{"struct":{"a":[1,"b",true,null,{"c":[]}],"__proto__":{"d":-0}}}' },
  { type: "WellKnown", json: '{"value":{}}' },
  { type: "WellKnown", json: '{"value":[[]]}' },
  { type: "WellKnown", json: '{"value":1e3}', again: '{"value":1000}' },
  { type: "WellKnown", json: '{"value":"NaN"}' },
  { type: "WellKnown", json: '{"list":[1,[2]],"empty":{}}' },
  {
    type: "WellKnown",
    json: '{"double":0,"float":0,"int64":"0","uint64":"0","int32":0,"uint32":0,"bool":false,"string":"","bytes":""}',
  },
  {
    type: "WellKnown",
    json: '{"int64":"9223372036854775807","double":"NaN","bytes":"AQ=="}',
    again: '{"double":"NaN","int64":"9223372036854775807","bytes":"AQ=="}',
  },
  { type: "google.protobuf.StringValue", json: '"top"' },
  { type: "google.protobuf.Value", json: "null" },
  { type: "google.protobuf.Value", json: " [1] ", again: "[1]" },
  { type: "google.protobuf.Timestamp", json: '"2006-01-02T15:04:05Z"' },
  { type: "google.protobuf.Empty", json: "{}" },

  // Any: `@type` may stand anywhere, and types with a form of their own stand as `value`.
  { type: "WellKnown", json: '{"any":{"@type":"type.googleapis.com/json.Optional","int32":1}}' },
  {
    type: "WellKnown",
    json: '{"any":{"int32":1,"@type":"type.googleapis.com/json.Optional","string":"a"}}',
    again: '{"any":{"@type":"type.googleapis.com/json.Optional","int32":1,"string":"a"}}',
  },
  {
    type: "WellKnown",
    json: '{"any":{"nested":{"string":"}\\"]"},"\\u0040type":"type.googleapis.com/json.Optional"}}',
    again: '{"any":{"@type":"type.googleapis.com/json.Optional","nested":{"string":"}\\"]"}}}',
  },
  { type: "WellKnown", json: '{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}' },
  {
    type: "WellKnown",
    json: '{"any":{"value":null,"@type":"type.googleapis.com/google.protobuf.Value"}}',
    again: '{"any":{"@type":"type.googleapis.com/google.protobuf.Value","value":null}}',
  },
  { type: "WellKnown", json: '{"any":{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":"1"}}' },
  // To look for the type of an Any is no step deeper.
  {
    type: "Anys",
    json: `{"any":[${Array(100).fill('{"@type":"type.googleapis.com/json.Optional","int32":1}').join()}]}`,
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/json.Optional","bool":true}}}',
  },
  { type: "WellKnown", json: '{"any":{"@type":"type.googleapis.com/google.protobuf.Empty"}}' },
  { type: "WellKnown", json: '{"any":{}}' },

  // proto2: presence, closed enums, groups, extensions, required fields.
  { type: "legacy.Legacy", json: '{"number":7,"text":"nothing"}' },
  { type: "legacy.Legacy", json: '{"group":{"number":1,"nested":{"number":2}},"groups":[{"number":3},{}]}' },
  {
    type: "legacy.Legacy",
    json: '{"numbers":[1,2],"packedShades":["LIGHT"],"byName":{"a":"DARK"}}',
    again: '{"packedShades":["LIGHT"],"byName":{"a":"DARK"},"numbers":[1,2]}',
  },
  {
    type: "legacy.Legacy",
    json: '{"[json.legacy.extended]":1,"[json.legacy.many]":["a"],"[json.legacy.deep]":{"[json.legacy.extended]":2}}',
  },
  { type: "legacy.Legacy", json: '{"[json.legacy.grouped]":{"number":1}}' },
  { type: "legacy.Needs", json: '{"name":"","inner":{"number":0},"inners":[{"number":1}]}' },

  // Editions.
  { type: "edition.Edition", json: '{"explicit":0,"implicit":0,"required":0}', again: '{"explicit":0,"required":0}' },
  {
    type: "edition.Edition",
    json: '{"required":1,"delimited":{"required":2},"inners":[{"name":"a"},{}],"expanded":[1,2],"closed":"SECOND"}',
  },

  // As deep as it goes.
  { type: "Optional", json: nested(63, "{}") },
  { type: "WellKnown", json: `{"list":${"[".repeat(40)}${"]".repeat(40)}}` },
];

export const refused: readonly RefusedJson[] = [
  // What stands in strings before is not taken for structure.
  { type: "Optional", json: '{"string":"\\\\\\",{[","int32":0.5}', because: `int32: ${INT32}, got 0.5` },
  { type: "Optional", json: '{"string":"\\\\","int32":0.5}', because: `int32: ${INT32}, got 0.5` },
  { type: "Optional", json: '{"string":"","int32":0.5}', because: `int32: ${INT32}, got 0.5` },
  // Integers.
  { type: "Optional", json: '{"int32":2147483648}', because: `int32: ${INT32}, got 2147483648` },
  { type: "Optional", json: '{"int32":-2147483649}', because: `int32: ${INT32}, got -2147483649` },
  { type: "Optional", json: '{"int32":0.5}', because: `int32: ${INT32}, got 0.5` },
  { type: "Optional", json: '{"int32":1e-1}', because: `int32: ${INT32}, got 1e-1` },
  { type: "Optional", json: '{"int32":1e999999999999}', because: `int32: ${INT32}, got 1e999999999999` },
  { type: "Optional", json: '{"int32":1e-999999999999}', because: `int32: ${INT32}, got 1e-999999999999` },
  { type: "Optional", json: '{"int32":"01"}', because: `int32: ${INT32}, got "01"` },
  { type: "Optional", json: '{"int32":"-01"}', because: `int32: ${INT32}, got "-01"` },
  { type: "Optional", json: '{"int32":" 1"}', because: `int32: ${INT32}, got " 1"` },
  { type: "Optional", json: '{"int32":"1 "}', because: `int32: ${INT32}, got "1 "` },
  { type: "Optional", json: '{"int32":""}', because: `int32: ${INT32}, got ""` },
  { type: "Optional", json: '{"int32":"+1"}', because: `int32: ${INT32}, got "+1"` },
  { type: "Optional", json: '{"int32":"0x1"}', because: `int32: ${INT32}, got "0x1"` },
  { type: "Optional", json: '{"int32":"1."}', because: `int32: ${INT32}, got "1."` },
  { type: "Optional", json: '{"int32":true}', because: `int32: ${INT32}, got true` },
  { type: "Optional", json: '{"int32":[1]}', because: `int32: ${INT32}, got an array` },
  { type: "Optional", json: '{"int32":{}}', because: `int32: ${INT32}, got an object` },
  { type: "Optional", json: '{"uint32":-1}', because: `uint32: ${UINT32}, got -1` },
  { type: "Optional", json: '{"uint32":4294967296}', because: `uint32: ${UINT32}, got 4294967296` },
  { type: "Optional", json: '{"int64":9223372036854775808}', because: `int64: ${INT64}, got 9223372036854775808` },
  { type: "Optional", json: '{"int64":-9223372036854775809}', because: `int64: ${INT64}, got -9223372036854775809` },
  { type: "Optional", json: '{"int64":9007199254740993.5}', because: `int64: ${INT64}, got 9007199254740993.5` },
  { type: "Optional", json: '{"uint64":18446744073709551616}', because: `uint64: ${UINT64}, got 18446744073709551616` },
  { type: "Optional", json: '{"uint64":"-1"}', because: `uint64: ${UINT64}, got "-1"` },
  { type: "Optional", json: '{"uint64":99999999999999999999}', because: `uint64: ${UINT64}, got 99999999999999999999` },
  { type: "Optional", json: '{"int32":01}', because: "line 1, column 10: expected a number as JSON writes it, got 01" },
  { type: "Optional", json: '{"int32":1.}', because: "line 1, column 10: expected a number as JSON writes it, got 1." },
  { type: "Optional", json: '{"int32":-}', because: "line 1, column 10: expected a number as JSON writes it, got -" },
  { type: "Optional", json: '{"int32":1e}', because: "line 1, column 10: expected a number as JSON writes it, got 1e" },
  { type: "Optional", json: '{"int32":+1}', because: "line 1, column 10: expected a value, got +1" },
  { type: "Optional", json: '{"int32":.5}', because: "line 1, column 10: expected a value, got .5" },

  // Floating point.
  { type: "Optional", json: '{"double":1e400}', because: "double: expected a number, got 1e400" },
  { type: "Optional", json: '{"double":-1.8e308}', because: "double: expected a number, got -1.8e308" },
  { type: "Optional", json: '{"double":NaN}', because: "line 1, column 11: expected a value, got NaN" },
  {
    type: "Optional",
    json: '{"double":-Infinity}',
    because: "line 1, column 11: expected a number as JSON writes it, got -Infinity",
  },
  { type: "Optional", json: '{"double":"nan"}', because: 'double: expected a number, got "nan"' },
  { type: "Optional", json: '{"double":"x"}', because: 'double: expected a number, got "x"' },
  { type: "Optional", json: '{"double":""}', because: 'double: expected a number, got ""' },
  { type: "Optional", json: '{"float":3.5e38}', because: `float: ${FLOAT}, got 3.5e38` },
  { type: "Optional", json: '{"float":-1e39}', because: `float: ${FLOAT}, got -1e39` },

  // Strings: whole Unicode text, or nothing.
  {
    type: "Optional",
    json: '{"string":"\\ud800"}',
    because: "line 1, column 11: a string has half of a surrogate pair",
  },
  {
    type: "Optional",
    json: '{"string":"\\udc00\\ud800"}',
    because: "line 1, column 11: a string has half of a surrogate pair",
  },
  {
    type: "Optional",
    json: bytes('{"string":"', [0xff], '"}'),
    because: "line 1, column 12: the text is not valid UTF-8",
  },
  {
    type: "Optional",
    json: bytes('{"string":"', [0xc0, 0x80], '"}'),
    because: "line 1, column 12: the text is not valid UTF-8",
  },
  {
    type: "Optional",
    json: bytes('{"string":"', [0xed, 0xa0, 0x80], '"}'),
    because: "line 1, column 12: the text is not valid UTF-8",
  },
  {
    type: "Optional",
    json: bytes('{"string":"ü', [0xe2, 0x82], '"}'),
    because: "line 1, column 13: the text is not valid UTF-8",
  },
  {
    type: "Maps",
    json: bytes('{"string":{"', [0xff], '":""}}'),
    because: "line 1, column 13: the text is not valid UTF-8",
  },
  {
    type: "Optional",
    json: '{"string":"\u0000"}',
    because: "line 1, column 12: a string has a control character that is not escaped",
  },
  {
    type: "Optional",
    json: '{"string":"\n"}',
    because: "line 1, column 12: a string has a control character that is not escaped",
  },
  {
    type: "Optional",
    json: '{"string":"\\x"}',
    because: "line 1, column 11: a string has an escape that JSON does not know",
  },
  {
    type: "Optional",
    json: '{"string":"\\u12"}',
    because: "line 1, column 11: a string has an escape that JSON does not know",
  },
  { type: "Optional", json: '{"string":"a', because: "line 1, column 13: a string is not closed" },
  { type: "Optional", json: '{"string":"a\\"}', because: "line 1, column 16: a string is not closed" },
  { type: "Optional", json: '{"string":1}', because: "string: expected a string, got 1" },
  { type: "Optional", json: '{"string":["a"]}', because: "string: expected a string, got an array" },

  // Bytes.
  { type: "Optional", json: '{"bytes":"A"}', because: 'bytes: expected base64, got "A"' },
  { type: "Optional", json: '{"bytes":"AQ="}', because: 'bytes: expected base64, got "AQ="' },
  { type: "Optional", json: '{"bytes":"===="}', because: 'bytes: expected base64, got "===="' },
  { type: "Optional", json: '{"bytes":"AQ ID"}', because: 'bytes: expected base64, got "AQ ID"' },
  { type: "Optional", json: '{"bytes":"AQID*QID"}', because: 'bytes: expected base64, got "AQID*QID"' },
  { type: "Optional", json: '{"bytes":"äöü"}', because: 'bytes: expected base64, got "äöü"' },

  // Booleans and enums.
  { type: "Optional", json: '{"bool":"true"}', because: 'bool: expected true or false, got "true"' },
  { type: "Optional", json: '{"bool":1}', because: "bool: expected true or false, got 1" },
  { type: "Optional", json: '{"bool":tru}', because: "line 1, column 9: expected a value, got tru" },
  { type: "Optional", json: '{"color":"PINK"}', because: `color: ${COLOR}, got "PINK"` },
  { type: "Optional", json: '{"color":"1"}', because: `color: ${COLOR}, got "1"` },
  { type: "Optional", json: '{"color":0.5}', because: `color: ${COLOR}, got 0.5` },
  { type: "Optional", json: '{"color":2147483648}', because: `color: ${COLOR}, got 2147483648` },
  { type: "legacy.Legacy", json: '{"shade":4}', because: `shade: ${SHADE}, got 4` },
  { type: "legacy.Legacy", json: '{"shades":["LIGHT",4]}', because: `shades[1]: ${SHADE}, got 4` },

  // Names: once each, and no unknown ones.
  { type: "Optional", json: '{"int32":1,"int32":1}', because: "int32: given more than once" },
  { type: "Optional", json: '{"longName":"a","long_name":"a"}', because: "long_name: given more than once" },
  { type: "Optional", json: '{"int32":null,"int32":1}', because: "int32: given more than once" },
  { type: "Optional", json: '{"int32":1,"\\u0069nt32":1}', because: '["\\u0069nt32"]: given more than once' },
  { type: "Optional", json: '{"nested":{"x":1}}', because: "nested.x: no such field in json.Optional" },
  { type: "Optional", json: '{"":1}', because: '[""]: no such field in json.Optional' },
  { type: "Optional", json: '{"__proto__":{}}', because: "__proto__: no such field in json.Optional" },
  { type: "Optional", json: '{"@type":"a/json.Optional"}', because: "@type: no such field in json.Optional" },
  {
    type: "Choice",
    json: '{"text":"a","number":1}',
    because: "number: another member of the oneof choice is given already",
  },
  {
    type: "Choice",
    json: '{"nothing":null,"number":1}',
    because: "number: another member of the oneof choice is given already",
  },

  // Lists and maps.
  { type: "Lists", json: '{"int32":[1,null]}', because: `int32[1]: ${INT32}, got null` },
  { type: "Lists", json: '{"message":[{},null]}', because: "message[1]: expected an object, got null" },
  {
    type: "Lists",
    json: '{"message":[{},{},{"nested":{"int32":"x"}}]}',
    because: `message[2].nested.int32: ${INT32}, got "x"`,
  },
  { type: "Lists", json: '{"wrapped":[null]}', because: "wrapped[0]: expected a string, got null" },
  { type: "Lists", json: '{"int32":{}}', because: "int32: expected an array, got an object" },
  { type: "Lists", json: '{"int32":[1,]}', because: 'line 1, column 13: expected a value, got "]"' },
  { type: "Lists", json: '{"int32":[1 2]}', because: 'line 1, column 13: expected "," or "]", got 2' },
  { type: "Lists", json: '{"int32":[,1]}', because: 'line 1, column 11: expected a value, got ","' },
  { type: "Maps", json: '{"string":[]}', because: "string: expected an object, got an array" },
  { type: "Maps", json: '{"string":{"a":null}}', because: "string.a: expected a value, got null" },
  { type: "Maps", json: '{"string":{"a":"1","a":"2"}}', because: "string.a: given more than once" },
  { type: "Maps", json: '{"string":{"a":"1","\\u0061":"2"}}', because: 'string["\\u0061"]: given more than once' },
  { type: "Maps", json: '{"int32":{"0":1,"-0":2}}', because: 'int32["-0"]: given more than once' },
  { type: "Maps", json: '{"int32":{"1":1,"01":2}}', because: `int32: ${INT32}, got "01"` },
  {
    type: "Maps",
    json: '{"int32":{"1.0":1}}',
    because: 'int32: expected an integer without fraction or exponent, got "1.0"',
  },
  { type: "Maps", json: '{"int32":{"":1}}', because: `int32: ${INT32}, got ""` },
  { type: "Maps", json: '{"int32":{1:1}}', because: "line 1, column 11: expected a key in quotes, got 1" },
  { type: "Maps", json: '{"bool":{"True":true}}', because: 'bool: expected "true" or "false", got "True"' },
  { type: "Maps", json: '{"message":{"a b":{"int32":"x"}}}', because: `message["a b"].int32: ${INT32}, got "x"` },
  { type: "Maps", json: '{"color":{"a":"PINK"}}', because: `color.a: ${COLOR}, got "PINK"` },
  {
    type: "Maps",
    json: `{"int32":{${Array.from({ length: 100 }, (_, at) => `"${at}":${at}`).join()},"99":1}}`,
    because: 'int32["99"]: given more than once',
  },

  // Well-known types.
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-02-29T00:00:00Z"}',
    because: `timestamp: ${TIME}, got "2001-02-29T00:00:00Z"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-01-01T24:00:00Z"}',
    because: `timestamp: ${TIME}, got "2001-01-01T24:00:00Z"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-01-01T00:00:60Z"}',
    because: `timestamp: ${TIME}, got "2001-01-01T00:00:60Z"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-01-01t00:00:00Z"}',
    because: `timestamp: ${TIME}, got "2001-01-01t00:00:00Z"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-01-01T00:00:00z"}',
    because: `timestamp: ${TIME}, got "2001-01-01T00:00:00z"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-01-01T00:00:00"}',
    because: `timestamp: ${TIME}, got "2001-01-01T00:00:00"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"2001-01-01T00:00:00.Z"}',
    because: `timestamp: ${TIME}, got "2001-01-01T00:00:00.Z"`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"0001-01-01T00:00:00+00:01"}',
    because: `timestamp: ${TIME}, got "0001-01-01T00:00:00+00…`,
  },
  {
    type: "WellKnown",
    json: '{"timestamp":"0000-01-01T00:00:00Z"}',
    because: `timestamp: ${TIME}, got "0000-01-01T00:00:00Z"`,
  },
  { type: "WellKnown", json: '{"timestamp":0}', because: `timestamp: ${TIME}, got 0` },
  { type: "WellKnown", json: '{"duration":"315576000001s"}', because: `duration: ${DURATION}, got "315576000001s"` },
  { type: "WellKnown", json: '{"duration":"1"}', because: `duration: ${DURATION}, got "1"` },
  { type: "WellKnown", json: '{"duration":"s"}', because: `duration: ${DURATION}, got "s"` },
  { type: "WellKnown", json: '{"duration":"1s2"}', because: `duration: ${DURATION}, got "1s2"` },
  { type: "WellKnown", json: '{"duration":"1.0000000001s"}', because: `duration: ${DURATION}, got "1.0000000001s"` },
  {
    type: "WellKnown",
    json: '{"mask":"foo_bar"}',
    because: 'mask: expected field names in lowerCamelCase with commas between, got "foo_bar"',
  },
  {
    type: "WellKnown",
    json: '{"mask":"a,"}',
    because: 'mask: expected field names in lowerCamelCase with commas between, got "a,"',
  },
  {
    type: "WellKnown",
    json: '{"value":1e400}',
    because: "value: expected a number in the range of a double, got 1e400",
  },
  { type: "WellKnown", json: '{"value":nul}', because: "line 1, column 10: expected a value, got nul" },
  { type: "WellKnown", json: '{"struct":{"a":1,"a":2}}', because: "struct.a: given more than once" },
  { type: "WellKnown", json: '{"struct":[]}', because: "struct: expected an object, got an array" },
  { type: "WellKnown", json: '{"list":{}}', because: "list: expected an array, got an object" },
  { type: "WellKnown", json: '{"empty":{"a":1}}', because: "empty.a: no such field in google.protobuf.Empty" },
  { type: "WellKnown", json: '{"int32":{"value":1}}', because: `int32: ${INT32}, got an object` },
  { type: "WellKnown", json: '{"any":{"int32":1}}', because: "any.@type: required, but missing" },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"x/none"}}',
    because:
      'any.@type: expected the URL of a known type such as type.googleapis.com/google.protobuf.Empty, got "x/none"',
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"json.Optional"}}',
    because:
      'any.@type: expected the URL of a known type such as type.googleapis.com/google.protobuf.Empty, got "json.Optional"',
  },
  { type: "WellKnown", json: '{"any":{"@type":1}}', because: "any.@type: expected a type's URL, got 1" },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"a/json.Optional","@type":"a/json.Optional"}}',
    because: "any.@type: no such field in json.Optional",
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"a/json.Optional","int32":"x"}}',
    because: `any.int32: ${INT32}, got "x"`,
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"a/google.protobuf.Duration"}}',
    because: "any.value: required, but missing",
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"a/google.protobuf.Duration","value":"1s","value":"1s"}}',
    because: "any.value: given more than once",
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"a/google.protobuf.Duration","x":"1s"}}',
    because: "any.x: no such field beside @type and value",
  },
  {
    type: "WellKnown",
    json: '{"any":{"x":[}]},"@type":"a/json.Optional"}}',
    because: 'line 1, column 15: expected "," or "}", got "]"',
  },

  // proto2 and editions.
  { type: "legacy.Needs", json: '{"name":"a"}', because: "inner: required, but missing" },
  { type: "legacy.Needs", json: '{"name":"a","inner":null}', because: "inner: required, but null" },
  {
    type: "legacy.Needs",
    json: '{"name":"a","inner":{"number":1},"inners":[{}]}',
    because: "inners[0].number: required, but missing",
  },
  {
    type: "legacy.Legacy",
    json: '{"[json.legacy.none]":1}',
    because: '["[json.legacy.none]"]: no such field in json.legacy.Legacy',
  },
  {
    type: "legacy.Legacy",
    json: '{"[json.legacy.extended]":1,"[json.legacy.extended]":1}',
    because: '["[json.legacy.extended]"]: given more than once',
  },
  { type: "legacy.Legacy", json: '{"Group":{}}', because: "Group: no such field in json.legacy.Legacy" },
  { type: "edition.Edition", json: "{}", because: "required: required, but missing" },

  // The text as a whole.
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

  // Of the input at most 64 characters come back.
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
  // What does not show, or reorders what does, is told as its escape.
  { type: "Maps", json: '{"string":{"\u202e":1}}', because: 'string["\\u202e"]: expected a string, got 1' },
  { type: "Optional", json: '{"int32":"\u{e0041}"}', because: `int32: ${INT32}, got "\\udb40\\udc41"` },
];

function bytes(before: string, middle: readonly number[], after = ""): Uint8Array {
  return Buffer.concat([Buffer.from(before), Buffer.from(middle), Buffer.from(after)]);
}
