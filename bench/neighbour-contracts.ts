/** Large contracts for neighbours. */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type MethodDescriptorProto,
  MethodDescriptorProtoSchema,
  MethodOptionsSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { HttpRule } from "../src/gen/google/api/http.js";

/** The number of the extension `google.api.http` of google.protobuf.MethodOptions. */
const HTTP = 72295728;
const BINDINGS = 16;

/** A path that shares a long prefix with every template, and matches none. */
export function noTemplate(segments: number): string {
  return `${"/a".repeat(segments)}/none`;
}

function contract(
  method: readonly MethodDescriptorProto[],
  messages: readonly DescriptorProto[],
  file: string,
): Buffer {
  const set = create(FileDescriptorSetSchema, {
    file: [
      create(FileDescriptorProtoSchema, {
        name: file,
        package: "neighbour",
        syntax: "proto3",
        messageType: [create(DescriptorProtoSchema, { name: "Empty" }), ...messages],
        service: [create(ServiceDescriptorProtoSchema, { name: "Neighbour", method: [...method] })],
      }),
    ],
  });
  return Buffer.from(toBinary(FileDescriptorSetSchema, set));
}

function methodOf(name: string): MethodDescriptorProto {
  return create(MethodDescriptorProtoSchema, { name, inputType: ".neighbour.Empty", outputType: ".neighbour.Empty" });
}

/** A contract with `count` messages. It is a different contract for each `number`. */
export function manyMessages(count: number, number: number): Buffer {
  const messages = Array.from({ length: count }, (_, index) => create(DescriptorProtoSchema, { name: `M${index}` }));
  return contract([methodOf("Call")], messages, `neighbour${number}.proto`);
}

/**
 * A contract with 2^segments path templates. Each segment of a template is `a` or a wildcard, so
 * every beginning of a template matches `/a/a/…`.
 */
export function manyTemplates(segments: number): Buffer {
  const templateOf = (number: number) =>
    Array.from({ length: segments }, (_, bit) => ((number >> bit) & 1 ? "/*" : "/a")).join("");
  const methods = Array.from({ length: 2 ** segments / BINDINGS }, (_, index) => {
    const rules = Array.from({ length: BINDINGS }, (_, binding) => {
      const value = `${templateOf(index * BINDINGS + binding)}/end`;
      return { pattern: { $case: "post" as const, value }, body: "*" };
    });
    const [first, ...additionalBindings] = rules;
    const data = new BinaryWriter()
      .bytes(HttpRule.encode(HttpRule.fromPartial({ ...first, additionalBindings })).finish())
      .finish();
    const options = create(MethodOptionsSchema);
    options.$unknown = [{ no: HTTP, wireType: WireType.LengthDelimited, data }];
    return { ...methodOf(`M${index}`), options };
  });
  return contract(methods, [], "neighbour.proto");
}
