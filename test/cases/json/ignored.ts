/**
 * JSON with fields and names of enum values that the types do not have, for readers that pass over
 * them. Types are in test/json/*.proto.
 */

interface IgnoredJson {
  readonly type: string;
  readonly json: string;
  /** The JSON of the message that is read. */
  readonly read: string;
}

export const ignored: readonly IgnoredJson[] = [
  { type: "Optional", json: '{"x":1}', read: "{}" },
  { type: "Optional", json: '{"int32":1,"x":"y","string":"a"}', read: '{"int32":1,"string":"a"}' },
  { type: "Optional", json: '{"x":{"a":[1,{"b":null}],"c":true},"int32":1}', read: '{"int32":1}' },
  { type: "Optional", json: '{"x":[ ],"y":{ },"z":[[],-1.5e3, "\\u0061" ,false]}', read: "{}" },
  { type: "Optional", json: '{"x":1,"x":2}', read: "{}" },
  { type: "Optional", json: '{"x":1e999,"y":123456789012345678901234567890}', read: "{}" },
  { type: "Optional", json: '{"nested":{"x":1,"int32":1}}', read: '{"nested":{"int32":1}}' },
  { type: "Optional", json: '{"nested":{"x":1}}', read: '{"nested":{}}' },
  { type: "Optional", json: '{"":1,"__proto__":{},"@type":"a/json.Optional"}', read: "{}" },
  { type: "Optional", json: '{"[json.legacy.none]":1}', read: "{}" },
  { type: "Lists", json: '{"message":[{"x":1},{"int32":1}]}', read: '{"message":[{},{"int32":1}]}' },
  { type: "Maps", json: '{"message":{"a":{"x":1}}}', read: '{"message":{"a":{}}}' },
  // Names of enum values.
  { type: "Optional", json: '{"color":"PINK"}', read: "{}" },
  { type: "Implicit", json: '{"color":"PINK","int32":1}', read: '{"int32":1}' },
  { type: "Lists", json: '{"color":["PINK","COLOR_RED","PINK",7]}', read: '{"color":["COLOR_RED",7]}' },
  { type: "Lists", json: '{"color":["PINK"]}', read: "{}" },
  { type: "Maps", json: '{"color":{"a":"PINK","b":"COLOR_RED"}}', read: '{"color":{"b":"COLOR_RED"}}' },
  { type: "Maps", json: '{"color":{"a":"COLOR_RED","b":"PINK"}}', read: '{"color":{"a":"COLOR_RED"}}' },
  { type: "Maps", json: '{"color":{"a":"PINK"}}', read: "{}" },
  { type: "Maps", json: '{"null":{"a":null,"b":"PINK","c":"NULL_VALUE"}}', read: '{"null":{"a":null,"c":null}}' },
  { type: "Choice", json: '{"color":"PINK"}', read: "{}" },
  { type: "Choice", json: '{"nothing":"PINK","yes":true}', read: '{"yes":true}' },
  { type: "legacy.Legacy", json: '{"shade":"PINK","shades":["LIGHT","PINK"]}', read: '{"shades":["LIGHT"]}' },
  // An Any of a known type.
  {
    type: "WellKnown",
    json: '{"any":{"@type":"type.googleapis.com/json.Optional","x":1,"int32":1}}',
    read: '{"any":{"@type":"type.googleapis.com/json.Optional","int32":1}}',
  },
  {
    type: "WellKnown",
    json: '{"any":{"x":1,"@type":"type.googleapis.com/google.protobuf.StringValue","value":"a","y":{}}}',
    read: '{"any":{"@type":"type.googleapis.com/google.protobuf.StringValue","value":"a"}}',
  },
];

interface NotIgnoredJson {
  readonly type: string;
  readonly json: string;
  readonly because: RegExp;
}

/** What is refused all the same. */
export const notIgnored: readonly NotIgnoredJson[] = [
  // The values of unknown fields must be JSON.
  ...["", "tru", "nul", "'a'", "01", "1.", "-", "+1", '"a', '"\\x"', '"\u0000"', "[1,]", "[1 2]"].map(brokenValue),
  ...["[", "{", "{1:2}", '{"a"}', '{"a":}', '{"a":1,}', "]", "NaN"].map(brokenValue),
  { type: "Optional", json: '{"x"}', because: /expected ":"/ },
  // Known fields count once, and a oneof has one member, whether its value is known or not.
  { type: "Optional", json: '{"color":"PINK","color":"COLOR_RED"}', because: /color: given more than once/ },
  { type: "Choice", json: '{"color":"PINK","text":"a"}', because: /another member of the oneof choice/ },
  // The keys of a map count once, whether their values are known or not.
  { type: "Maps", json: '{"color":{"a":"PINK","a":"COLOR_RED"}}', because: /color.a: given more than once/ },
  { type: "Maps", json: '{"color":{"a":"COLOR_RED","a":"PINK"}}', because: /color.a: given more than once/ },
  { type: "Maps", json: '{"color":{"a":"PINK","\\u0061":"PINK"}}', because: /color.*: given more than once/ },
  { type: "Maps", json: `{"color":{${manyEntries(40)},"b39":"PINK"}}`, because: /color.b39: given more than once/ },
  // Other values of enums.
  { type: "Optional", json: '{"color":1.5}', because: /color: expected a name or number/ },
  { type: "Lists", json: '{"color":[null]}', because: /color\[0\]: expected a name or number/ },
  { type: "Maps", json: '{"color":{"a":null}}', because: /color.a: expected a name or number/ },
  { type: "legacy.Legacy", json: '{"shade":4}', because: /shade: expected a name or number/ },
  // An Any of an unknown type has its bytes as `value`: another member would be lost content.
  { type: "WellKnown", json: '{"any":{"@type":"a/none.None","x":1}}', because: /the type is not known here/ },
  { type: "WellKnown", json: '{"any":{"x":1}}', because: /any\.@type: required/ },
];

function brokenValue(value: string): NotIgnoredJson {
  return { type: "Optional", json: `{"x":${value}}`, because: /^line 1, column/ };
}

/** Entries of a map that is so large that its keys are in a table. */
function manyEntries(count: number): string {
  return Array.from({ length: count }, (_, index) => `"b${index}":"COLOR_RED"`).join();
}
