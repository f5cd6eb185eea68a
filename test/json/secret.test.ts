// Errors about JSON and about a query quote nothing of a field that the contract keeps out of logs
// (`debug_redact`).
import { create, createFileRegistry, type DescMessage } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import t from "tap";
import { JsonError } from "../../src/json/codec.js";
import { compileCodecs } from "../../src/json/compile.js";

const CANARY = "hunter2";

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A field of the message `Test`. It is secret unless its name begins with `public_`. */
function field(name: string, number: number, type: Type, more: object = {}) {
  const isSecret = !name.startsWith("public_");
  const options = isSecret ? { debugRedact: true } : {};
  return { name, number, type, label: Label.OPTIONAL, jsonName: camelCase(name), options, ...more };
}

const ENTRY = { typeName: ".Test.MapEntry", label: Label.REPEATED };
const FIELDS = [
  field("public_name", 1, Type.STRING),
  field("password", 2, Type.STRING),
  field("pin", 3, Type.INT32),
  field("blob", 4, Type.BYTES),
  field("codes", 5, Type.INT64, { label: Label.REPEATED }),
  field("map", 6, Type.MESSAGE, ENTRY),
  field("inner", 7, Type.MESSAGE, { typeName: ".Inner" }),
  field("public_number", 8, Type.INT32),
  field("public_inner", 9, Type.MESSAGE, { typeName: ".Holder" }),
];
const plain = (name: string, number: number, type: Type) => ({ name, number, type, label: Label.OPTIONAL });
const registry = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [
      create(FileDescriptorProtoSchema, {
        name: "test.proto",
        syntax: "proto3",
        messageType: [
          {
            name: "Test",
            field: FIELDS,
            nestedType: [
              {
                name: "MapEntry",
                field: [plain("key", 1, Type.STRING), plain("value", 2, Type.INT32)],
                options: { mapEntry: true },
              },
            ],
          },
          { name: "Inner", field: [plain("number", 1, Type.INT32)] },
          { name: "Holder", field: [{ ...plain("token", 1, Type.INT32), options: { debugRedact: true } }] },
          { name: "Open", field: [plain("name", 1, Type.STRING), plain("number", 2, Type.INT32)] },
        ],
      }),
    ],
  }),
);
const codecOf = compileCodecs(registry);
const type = (name: string) => registry.getMessage(name) as DescMessage;
const messageOf = (read: () => unknown): string => {
  try {
    read();
    return "";
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return error.message;
  }
};
const refusal = (json: string, of = "Test") => messageOf(() => codecOf(type(of)).read(Buffer.from(json)));

const REFUSED: [json: string, message: string][] = [
  [`{"password":7}`, "password: expected a string, got a number"],
  [`{"pin":"${CANARY}"}`, `pin: expected an integer from -2147483648 to 2147483647, got a string`],
  [`{"blob":"${CANARY}?"}`, "blob: expected base64, got a string"],
  [
    `{"codes":[1,"${CANARY}"]}`,
    // No index: the error is about the whole field.
    "codes: expected an integer from -9223372036854775808 to 9223372036854775807, got a string",
  ],
  [`{"map":{"${CANARY}":"x"}}`, "map: expected an integer from -2147483648 to 2147483647, got a string"],
  [`{"map":{"${CANARY}":1,"${CANARY}":2}}`, "map: given more than once"],
  [`{"map":{"${CANARY}":null}}`, "map: expected a value, got null"],
  [`{"inner":{"${CANARY}":1}}`, "inner: no such field in Inner"],
  [`{"inner":{"number":"${CANARY}"}}`, "inner: expected an integer from -2147483648 to 2147483647, got a string"],
  [
    `{"publicInner":{"token":"${CANARY}"}}`,
    "publicInner.token: expected an integer from -2147483648 to 2147483647, got a string",
  ],
  // In a text that is not JSON, any part may belong to a secret.
  [`{"password":${CANARY}}`, "line 1, column 13: expected a value, got something else"],
  [`{"password":"x"${CANARY}"}`, 'line 1, column 16: expected "," or "}", got something else'],
  [`{"password":"x" "${CANARY}"}`, 'line 1, column 17: expected "," or "}", got a string'],
  [`{"password":"${CANARY}`, "line 1, column 21: a string is not closed"],
  [`{"password":"x","publicName":"x" ${CANARY}}`, 'line 1, column 34: expected "," or "}", got something else'],
  // A field that is not secret is quoted, even after a secret one.
  [
    `{"password":"x","publicNumber":"abc"}`,
    'publicNumber: expected an integer from -2147483648 to 2147483647, got "abc"',
  ],
];
for (const [json, message] of REFUSED) {
  t.test(json, async (t) => {
    t.equal(refusal(json), message);
    t.notMatch(refusal(json), CANARY);
  });
}

t.test("a type without secrets is quoted", async (t) => {
  t.match(refusal('{"name":7}', "Open"), "got 7");
  t.match(refusal('{"name":"x" oops}', "Open"), "got oops");
  t.match(refusal('{"number":"oops"}', "Open"), 'got "oops"');
});

t.test("the value of a single field, as in the body of a REST request", async (t) => {
  const [password] = type("Test").fields.filter(({ name }) => name === "pin");
  const message = messageOf(() => codecOf(password!).read(Buffer.from(`"${CANARY}"`)));
  t.equal(message, "expected an integer from -2147483648 to 2147483647, got a string");
});

t.test("parameters of a query", async (t) => {
  const query = (...parameters: [string, string][]) => messageOf(() => codecOf(type("Test")).readQuery(parameters));
  t.match(query(["pin", CANARY]), /^pin: expected .*, got a string$/);
  t.equal(query([`map[${CANARY}]`, "1"], [`map[${CANARY}]`, "2"]), "map: given more than once");
  t.equal(query([`inner.${CANARY}`, "1"]), "inner: no such parameter");
  t.equal(query(["publicInner.token", "1"], ["publicInner.token", "2"]), "publicInner.token: given more than once");
  t.match(query(["publicNumber", "abc"]), 'got "abc"');
});
