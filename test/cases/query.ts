/** The meaning of query parameters. Types are in test/json/*.proto. */

export interface AcceptedQuery {
  readonly type: string;
  /** `name=value`, not percent-encoded. */
  readonly parameters: readonly string[];
  /** The JSON of the same message. */
  readonly json: string;
}

export interface RefusedQuery {
  readonly type: string;
  readonly parameters: readonly string[];
  readonly because: string;
}

export const acceptedQueries: readonly AcceptedQuery[] = [
  { type: "Optional", parameters: [], json: "{}" },
  { type: "Optional", parameters: ["string=Ada"], json: '{"string":"Ada"}' },
  { type: "Optional", parameters: ["string="], json: '{"string":""}' },
  { type: "Optional", parameters: ['string="\\\u0001ä🎉=&'], json: '{"string":"\\"\\\\\\u0001ä🎉=&"}' },
  { type: "Optional", parameters: ["longName=a"], json: '{"longName":"a"}' },
  { type: "Optional", parameters: ["long_name=a"], json: '{"longName":"a"}' },
  {
    type: "Optional",
    parameters: ["int32=-1", "int64=9007199254740993", "uint32=1e3", "double=-0", "float=NaN"],
    json: '{"double":-0,"float":"NaN","int32":-1,"int64":"9007199254740993","uint32":1000}',
  },
  { type: "Optional", parameters: ["bool=true"], json: '{"bool":true}' },
  { type: "Optional", parameters: ["bool=false"], json: '{"bool":false}' },
  { type: "Optional", parameters: ["bytes=-_8"], json: '{"bytes":"+/8="}' },
  { type: "Optional", parameters: ["color=COLOR_RED"], json: '{"color":"COLOR_RED"}' },
  { type: "Optional", parameters: ["color=-2"], json: '{"color":"COLOR_BLUE"}' },
  {
    type: "Optional",
    parameters: ["nested.int32=1", "nested.nested.string=a", "nested.string=b"],
    json: '{"nested":{"int32":1,"string":"b","nested":{"string":"a"}}}',
  },
  {
    type: "Lists",
    parameters: ["string=a", "string=", "int32=1", "string=a"],
    json: '{"int32":[1],"string":["a","","a"]}',
  },
  {
    type: "Lists",
    parameters: ["bool=true", "bool=false", "color=1", "color=COLOR_BLUE", "wrapped=x"],
    json: '{"bool":[true,false],"color":["COLOR_RED","COLOR_BLUE"],"wrapped":["x"]}',
  },
  {
    type: "Maps",
    parameters: ["string[a]=1", "string[]=2", "string[a.b]=3", "string[[x]=4", "string[__proto__]=5"],
    json: '{"string":{"a":"1","":"2","a.b":"3","[x":"4","__proto__":"5"}}',
  },
  {
    type: "Maps",
    parameters: ["int32[-1]=1", "bool[true]=false", "int64[1]=2"],
    json: '{"int32":{"-1":1},"int64":{"1":"2"},"bool":{"true":false}}',
  },
  {
    type: "Maps",
    parameters: ["message[a].int32=1", "message[a].string=x", "message[b].bool=true"],
    json: '{"message":{"a":{"int32":1,"string":"x"},"b":{"bool":true}}}',
  },
  {
    type: "Maps",
    parameters: ["timestamp[a]=2006-01-02T15:04:05Z"],
    json: '{"timestamp":{"a":"2006-01-02T15:04:05Z"}}',
  },
  { type: "Choice", parameters: ["text=", "yes=true"], json: '{"text":"","yes":true}' },
  { type: "Choice", parameters: ["message.int32=1", "message.string=a"], json: '{"message":{"int32":1,"string":"a"}}' },
  { type: "Choice", parameters: ["nothing=NULL_VALUE"], json: '{"nothing":null}' },
  {
    type: "WellKnown",
    parameters: ["timestamp=2006-01-02T15:04:05.5+01:00"],
    json: '{"timestamp":"2006-01-02T14:04:05.500Z"}',
  },
  {
    type: "WellKnown",
    parameters: ["duration=1.5s", "mask=a,fooBar"],
    json: '{"duration":"1.500s","mask":"a,fooBar"}',
  },
  {
    type: "WellKnown",
    parameters: ["int64=1", "string=", "bool=true", "bytes=_w", "double=Infinity"],
    json: '{"double":"Infinity","int64":"1","bool":true,"string":"","bytes":"/w=="}',
  },
  { type: "WellKnown", parameters: ["value=text"], json: '{"value":"text"}' },
  {
    type: "Prototype",
    parameters: ["__proto__=a", "constructor=b", "toString=c"],
    json: '{"__proto__":"a","constructor":"b","toString":"c"}',
  },
];

export const refusedQueries: readonly RefusedQuery[] = [
  { type: "Optional", parameters: ["unknown=1"], because: "unknown: no such parameter" },
  { type: "Optional", parameters: ["=1"], because: ": no such parameter" },
  { type: "Optional", parameters: ["strng=1"], because: "strng: no such parameter; did you mean string?" },
  { type: "Optional", parameters: ["nested.unknown=1"], because: "nested.unknown: no such parameter" },
  { type: "Optional", parameters: ["string.a=1"], because: "string.a: no such parameter" },
  { type: "Optional", parameters: ["string[a]=1"], because: "string[a]: no such parameter" },
  { type: "Optional", parameters: ["nested..string=1"], because: "nested..string: no such parameter" },
  { type: "Optional", parameters: [".string=1"], because: ".string: no such parameter" },
  { type: "Optional", parameters: ["__proto__.a=1"], because: "__proto__.a: no such parameter" },
  { type: "Optional", parameters: ["constructor=1"], because: "constructor: no such parameter" },
  { type: "Optional", parameters: ["string=a", "string=b"], because: "string: given more than once" },
  { type: "Optional", parameters: ["longName=a", "long_name=b"], because: "long_name: given more than once" },
  { type: "Optional", parameters: ["nested.int32=1", "nested.int32=1"], because: "nested.int32: given more than once" },
  { type: "Optional", parameters: ["nested=1", "nested.int32=1"], because: "nested.int32: given more than once" },
  { type: "Optional", parameters: ["nested.int32=1", "nested=1"], because: "nested: given more than once" },
  { type: "Optional", parameters: ["nested=1"], because: 'nested: expected an object, got "1"' },
  {
    type: "Optional",
    parameters: ["nested.int32=x"],
    because: 'nested.int32: expected an integer from -2147483648 to 2147483647, got "x"',
  },
  {
    type: "Optional",
    parameters: ["int32="],
    because: 'int32: expected an integer from -2147483648 to 2147483647, got ""',
  },
  {
    type: "Optional",
    parameters: ["int32=01"],
    because: 'int32: expected an integer from -2147483648 to 2147483647, got "01"',
  },
  { type: "Optional", parameters: ["bool=1"], because: 'bool: expected true or false, got "1"' },
  { type: "Optional", parameters: ["bool="], because: 'bool: expected true or false, got ""' },
  {
    type: "Optional",
    parameters: ["color="],
    because: 'color: expected a name or number of json.Color (COLOR_NONE, COLOR_RED, COLOR_ROUGE, COLOR_BLUE), got ""',
  },
  {
    type: "Optional",
    parameters: ["color=007"],
    because:
      'color: expected a name or number of json.Color (COLOR_NONE, COLOR_RED, COLOR_ROUGE, COLOR_BLUE), got "007"',
  },
  {
    type: "Maps",
    parameters: ["color[a]=007"],
    because:
      'color.a: expected a name or number of json.Color (COLOR_NONE, COLOR_RED, COLOR_ROUGE, COLOR_BLUE), got "007"',
  },
  { type: "Optional", parameters: ["bytes=*"], because: 'bytes: expected base64, got "*"' },
  {
    type: "Optional",
    parameters: [`${"nested.".repeat(70)}string=1`],
    because: `${"nested.".repeat(6).slice(0, 39)}…: no such parameter`,
  },
  // An error escapes invisible characters, and does not cut a character in two.
  { type: "Optional", parameters: ["\u202e\u001b=1"], because: "\\u202e\\u001b: no such parameter" },
  {
    type: "Optional",
    parameters: [`${"x".repeat(38)}😀😀=1`],
    because: `${"x".repeat(38)}…: no such parameter`,
  },
  {
    type: "Lists",
    parameters: ["int32=1", "int32=x"],
    because: 'int32[1]: expected an integer from -2147483648 to 2147483647, got "x"',
  },
  { type: "Lists", parameters: ["message.int32=1"], because: "message.int32: no such parameter" },
  { type: "Lists", parameters: ["message=1"], because: 'message[0]: expected an object, got "1"' },
  { type: "Maps", parameters: ["string=1"], because: "string: a map: name the key as in string[key]" },
  { type: "Maps", parameters: ["string.a=1"], because: "string.a: a map: name the key as in string[key]" },
  { type: "Maps", parameters: ["string[a=1"], because: "string[a: no such parameter" },
  { type: "Maps", parameters: ["string[a]=1", "string[a]=2"], because: "string[a]: given more than once" },
  { type: "Maps", parameters: ["string[a].b=1"], because: "string[a].b: no such parameter" },
  {
    type: "Maps",
    parameters: ["int32[x]=1"],
    because: 'int32: expected an integer from -2147483648 to 2147483647, got "x"',
  },
  {
    type: "Choice",
    parameters: ["text=a", "number=1"],
    because: "number: another member of the oneof choice is given already",
  },
  {
    type: "Choice",
    parameters: ["message.int32=1", "number=1"],
    because: "number: another member of the oneof choice is given already",
  },
  {
    type: "WellKnown",
    parameters: ["timestamp=yesterday"],
    because: 'timestamp: expected a time from 0001 to 9999 such as "2006-01-02T15:04:05.5Z", got "yesterday"',
  },
  { type: "WellKnown", parameters: ["timestamp.seconds=1"], because: "timestamp.seconds: no such parameter" },
  { type: "WellKnown", parameters: ["int64.value=1"], because: "int64.value: no such parameter" },
  { type: "WellKnown", parameters: ["struct=1"], because: 'struct: expected an object, got "1"' },
  { type: "WellKnown", parameters: ["struct[a]=1"], because: "struct[a]: no such parameter" },
  { type: "WellKnown", parameters: ["any=1"], because: 'any: expected an object with @type, got "1"' },
  {
    type: "WellKnown",
    parameters: ["string=\ud800"],
    because: "string: the text has half of a surrogate pair",
  },
  { type: "legacy.Needs", parameters: ["name=a"], because: "inner: required, but missing" },
];
