/**
 * JSON that is accepted, and the JSON that is written for the same message. Types are in
 * test/json/*.proto.
 */
export interface AcceptedJson {
  readonly type: string;
  readonly json: string;
  /** The JSON that is written again; by default the same as `json`. */
  readonly again?: string;
}

/** JSON of a message in `depth` other messages. */
export const nested = (depth: number, innermost: string): string =>
  `${'{"nested":'.repeat(depth)}${innermost}${"}".repeat(depth)}`;

export const accepted: readonly AcceptedJson[] = [
  // Integers: exact in every size, in quotes or not. A fraction or exponent is allowed if the value
  // is an integer.
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

  // Floating point: -0 is preserved. A 32-bit float is written with the fewest digits that identify
  // it.
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

  // Enums by name or number. An open enum accepts any number. An alias is written by its first
  // name.
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

  // Both names of a field, in any spelling.
  { type: "Optional", json: '{"longName":"a"}' },
  { type: "Optional", json: '{"long_name":"a"}', again: '{"longName":"a"}' },
  { type: "Optional", json: '{"l\\u006fngName":"a"}', again: '{"longName":"a"}' },
  { type: "Optional", json: '{"a naïve \\"name\\"":"a"}' },
  { type: "Optional", json: '{"other":"a"}', again: '{"a naïve \\"name\\"":"a"}' },
  { type: "Optional", json: '{"string":"b","double":1}', again: '{"double":1,"string":"b"}' },
  { type: "Optional", json: ' {\t"bool"\r\n:\ttrue , "int32" : 1 } ', again: '{"int32":1,"bool":true}' },

  // Null means that the field is not set, except for types with null as a value.
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

  // Zeros count in a oneof, and in fields with presence.
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

  // Maps: keys of every type. Names with a meaning in JavaScript are ordinary keys.
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

  // Any: `@type` may stand anywhere. Types with a special JSON form are in `value`.
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
  // The search for the type of an Any does not count as a level.
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

  // The maximum depth.
  { type: "Optional", json: nested(63, "{}") },
  { type: "WellKnown", json: `{"list":${"[".repeat(40)}${"]".repeat(40)}}` },
];
