/** JSON that is refused, and the error messages. Types are in test/json/*.proto. */

export interface RefusedJson {
  readonly type: string;
  readonly json: string | Uint8Array;
  readonly because: string;
}

export const INT32 = "expected an integer from -2147483648 to 2147483647";
const UINT32 = "expected an integer from 0 to 4294967295";
const INT64 = "expected an integer from -9223372036854775808 to 9223372036854775807";
const UINT64 = "expected an integer from 0 to 18446744073709551615";
const FLOAT = "expected a number in the range of a 32-bit float";
const TIME = 'expected a time from 0001 to 9999 such as "2006-01-02T15:04:05.5Z"';
const DURATION = 'expected a duration of at most 315576000000 seconds such as "1.5s"';
const COLOR = "expected a name or number of json.Color (COLOR_NONE, COLOR_RED, COLOR_ROUGE, COLOR_BLUE)";
const SHADE = "expected a name or number of json.legacy.Shade (DARK, LIGHT)";

export const refused: readonly RefusedJson[] = [
  // Brackets in an earlier string are not structure.
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

  // Strings: complete Unicode text is required.
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

  // Names: each at most once, and only known ones.
  { type: "Optional", json: '{"int32":1,"int32":1}', because: "int32: given more than once" },
  { type: "Optional", json: '{"longName":"a","long_name":"a"}', because: "long_name: given more than once" },
  { type: "Optional", json: '{"int32":null,"int32":1}', because: "int32: given more than once" },
  { type: "Optional", json: '{"int32":1,"\\u0069nt32":1}', because: '["\\u0069nt32"]: given more than once' },
  { type: "Optional", json: '{"nested":{"x":1}}', because: "nested.x: no such field in json.Optional" },
  {
    type: "Optional",
    json: '{"nested":{"strng":1}}',
    because: "nested.strng: no such field in json.Optional; did you mean string?",
  },
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
    because: "any.value: required, but missing",
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"x/none","int32":1}}',
    because:
      "any.int32: no such field beside @type and value: the type is not known here, so value must have its bytes in base64",
  },
  { type: "WellKnown", json: '{"any":{"@type":"x/none","value":"%"}}', because: 'any.value: expected base64, got "%"' },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"x/none","value":{}}}',
    because: "any.value: expected base64 in a string, got an object",
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"x/json.Optional","value":"GAE="}}',
    because: "any.value: no such field in json.Optional",
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"json.Optional"}}',
    because:
      'any.@type: expected the URL of a type such as type.googleapis.com/google.protobuf.Empty, got "json.Optional"',
  },
  {
    type: "WellKnown",
    json: '{"any":{"@type":"a/","value":""}}',
    because: 'any.@type: expected the URL of a type such as type.googleapis.com/google.protobuf.Empty, got "a/"',
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
];

export function bytes(before: string, middle: readonly number[], after = ""): Uint8Array {
  return Buffer.concat([Buffer.from(before), Buffer.from(middle), Buffer.from(after)]);
}
