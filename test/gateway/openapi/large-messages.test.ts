// A contract with large messages costs a limited amount of work, in small steps: one per field.
import { create, createFileRegistry, type FileRegistry } from "@bufbuild/protobuf";
import { FieldDescriptorProto_Type, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { openApi, openApiSteps } from "../../../gateway/openapi/document.js";
import { endpointsOf } from "../../../src/contract/endpoint.js";

const { MESSAGE, STRING, ENUM } = FieldDescriptorProto_Type;
const MANY = 2_000;

interface Field {
  readonly name: string;
  readonly number: number;
  readonly oneofIndex?: number;
}

function field(number: number, typeName = "", type = typeName === "" ? STRING : MESSAGE) {
  return { name: `f${number}`, jsonName: `f${number}`, number, label: 1, typeName, type };
}

const list = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const fields = (count: number, typeName?: string): Field[] => list(count, (at) => field(at + 1, typeName));

type Messages = Readonly<Record<string, readonly Field[]>>;

/** The types of a file whose service takes and returns the message Root. */
function typesOf(messages: Messages, values = 0, oneofs = 0): FileRegistry {
  const oneofDecl = list(oneofs, (at) => ({ name: `o${at}` }));
  const file = {
    ...{ name: "large.proto", package: "large", syntax: "proto3" },
    messageType: Object.entries(messages).map(([name, all]) => ({ name, field: [...all], oneofDecl })),
    enumType:
      values === 0 ? [] : [{ name: "Value", value: list(values, (number) => ({ name: `V${number}`, number })) }],
    service: [{ name: "Large", method: [{ name: "Call", inputType: ".large.Root", outputType: ".large.Root" }] }],
    sourceCodeInfo: {
      location: list(values, (at) => ({ path: [5, 0, 2, at], span: [0, 0, 0], leadingComments: `The value ${at}.` })),
    },
  };
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }));
}

function optionsOf(types: FileRegistry) {
  return { service: "large", endpoints: endpointsOf("large", types, ["large.Large"]), types, server: "/" };
}

const documentOf = (types: FileRegistry) => JSON.parse(openApi(optionsOf(types)));

const STEPS: [title: string, types: FileRegistry, least: number][] = [
  // Requests and responses have different schemas, so two schemas are made and written.
  ["a field", typesOf({ Root: fields(MANY) }), 4 * MANY],
  ["a value of an enum that has a comment", typesOf({ Root: [field(1, ".large.Value", ENUM)] }, MANY), 2 * MANY],
];
for (const [title, types, least] of STEPS) {
  t.test(`a step for ${title}`, async (t) => {
    const options = optionsOf(types);
    const work = openApiSteps(options);
    let steps = 0;
    let { done, value } = work.next();
    for (; !done; { done, value } = work.next()) steps++;
    t.ok(steps >= least, `${steps} steps`);
    t.equal(value, openApi(options), "the document as it is made at once");
  });
}

t.test("the fields of a message that is nested in many fields are not examined in each", async (t) => {
  const types = typesOf({ Root: fields(MANY, ".large.Inner"), Inner: fields(MANY, ".large.Empty"), Empty: [] });
  const inner = types.getMessage("large.Inner")?.fields[0];
  let reads = 0;
  Object.defineProperty(inner, "jsonName", {
    get() {
      reads++;
      return "f1";
    },
  });
  const { components } = documentOf(types);
  t.equal(Object.keys(components.schemas["large.Inner-input"].properties).length, MANY);
  t.ok(reads < MANY / 10, `${reads} reads`);
});

t.test("a message of more than 500 fields has no example, and is left out of others", async (t) => {
  const exampleIn = (messages: Messages) =>
    documentOf(typesOf(messages)).paths["/v1/large/Call"].post.requestBody.content["application/json"].example;
  t.equal(Object.keys(exampleIn({ Root: fields(500) })).length, 500);
  t.equal(exampleIn({ Root: fields(501) }), undefined);
  t.strictSame(exampleIn({ Root: [field(1), field(2, ".large.Wide")], Wide: fields(501) }), { f1: "text" });
});

t.test("at most about 2,000 pairs of oneof members are excluded", async (t) => {
  const ofOneofs = fields(MANY).map((one, at) => ({ ...one, oneofIndex: Math.floor(at / 16) }));
  const { not } = documentOf(typesOf({ Root: ofOneofs }, 0, MANY / 16)).components.schemas["large.Root-input"];
  // 120 pairs of 16 members. The oneof that reaches the maximum has all its pairs.
  t.equal(not.anyOf.length, 17 * 120);
});
