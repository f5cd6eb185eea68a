// The schema of a tool has a maximum number of parts, so that a huge contract neither blocks the
// gateway nor fills a model's context.
import { create, createFileRegistry, type DescMessage } from "@bufbuild/protobuf";
import { FieldDescriptorProto_Type, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { messageSchema } from "../../../../gateway/dialects/mcp/tool-schema.js";

const LENGTH = 5_000;
const { MESSAGE, STRING } = FieldDescriptorProto_Type;

/** A message of each length, and a chain of messages in which each has the next one as a field. */
const types = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [
      {
        ...{ name: "huge.proto", package: "huge", syntax: "proto3" },
        messageType: [
          ...Array.from({ length: LENGTH }, (_, index) => ({
            name: `Link${index}`,
            field: index + 1 < LENGTH ? [field("next", 1, `.huge.Link${index + 1}`)] : [],
          })),
          { name: "Wide", field: Array.from({ length: LENGTH }, (_, index) => field(`f${index}`, index + 1)) },
          { name: "Outer", field: [field("wide", 1, ".huge.Wide"), field("name", 2)] },
        ],
      },
    ],
  }),
);

function field(name: string, number: number, typeName = "") {
  return { name, number, jsonName: name, label: 1, typeName, type: typeName === "" ? STRING : MESSAGE };
}

const typeOf = (name: string): DescMessage => types.getMessage(`huge.${name}`)!;
const CUT = /too large to be shown here/;

t.test("a schema of a long chain has the nearest messages", async (t) => {
  const schema = messageSchema(typeOf("Link0"), "input", { types, maxParts: 500 });
  const defs = schema.$defs as Record<string, Record<string, unknown>>;
  t.match(schema, { type: "object", properties: { next: {} } });
  t.match(defs["huge.Link249-input"], { type: "object", properties: { next: {} } });
  t.match(defs["huge.Link250-input"], { type: "object", description: CUT });
  t.equal(Object.keys(defs).length, 250);
});

t.test("a message with too many fields is an object without fields, and its neighbours are complete", async (t) => {
  const schema = messageSchema(typeOf("Outer"), "output", { types, maxParts: 500 });
  t.match(schema, { properties: { wide: {}, name: { type: "string" } } });
  t.match((schema.$defs as Record<string, unknown>)["huge.Wide-output"], { type: "object", description: CUT });
  t.match(messageSchema(typeOf("Wide"), "input", { types, maxParts: 500 }), { type: "object", description: CUT });
});

t.test("without a maximum the schema is complete", async (t) => {
  const schema = messageSchema(typeOf("Link0"), "input", { types });
  t.equal(Object.keys(schema.$defs as object).length, LENGTH - 1);
});
