/**
 * The contract of a definition that @grpc/proto-loader has loaded equals the contract of its
 * `.proto`.
 */
import { loadSync, type ServiceDefinition } from "@grpc/proto-loader";
import t from "tap";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { HelloworldService } from "../../src/gen/helloworld/helloworld.js";
import { part } from "../../src/kit/index.js";
import { descriptorsOf } from "../../src/kit/loaded-definition.js";

t.test("types, optional fields, maps and imports are as in the file", (t) => {
  const loaded = loadSync("test/kit/loaded.proto", { keepCase: true })["loaded.v1.Loaded"] as ServiceDefinition;
  const types = readDescriptors(descriptorsOf([part(loaded, { get: () => ({}) })]));
  const fieldsOf = (name: string) =>
    types.getMessage(name)?.fields.map((field) => {
      const type = field.message?.typeName ?? field.enum?.typeName ?? "";
      return [
        field.name,
        field.jsonName,
        field.fieldKind,
        type,
        field.proto.proto3Optional,
        field.oneof?.name ?? "",
      ].join(" ");
    });
  t.same(fieldsOf("loaded.v1.GetRequest"), [
    "first_name firstName scalar  false ",
    "times times scalar  true ",
    "kind kind enum loaded.v1.GetRequest.Kind false ",
    "at at message google.protobuf.Timestamp false ",
    "inner inner map loaded.v1.GetRequest.Inner false ",
    "other other message loaded.v1.GetRequest.Inner false ",
  ]);
  t.same(fieldsOf("loaded.v1.GetRequest.Inner"), [
    "inner inner map loaded.v1.GetRequest.Inner false ",
    "text text scalar  false which",
    "data data scalar  false which",
  ]);
  t.same(fieldsOf("loaded.v1.GetResponse"), ["kinds kinds list loaded.v1.GetRequest.Kind false "]);
  t.equal(types.getService("loaded.v1.Loaded")?.methods[0]?.output.typeName, "loaded.v1.GetResponse");
  t.end();
});

t.test("generated code has no contract, and the error says what to provide", (t) => {
  const generated = part(HelloworldService, { call: () => ({ message: "", msg: "" }), stream: async function* () {} });
  t.throws(() => descriptorsOf([generated]), { name: "TypeError", message: /^descriptors: must be given .*buf build/ });
  t.end();
});
