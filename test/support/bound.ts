/**
 * Descriptors with a `google.api.http` annotation at each method: POST at `/bound` and the gRPC
 * path, with the message as the body.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorSetSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { HttpRule } from "../../src/gen/google/api/http.js";

/** The number of the extension `google.api.http` of google.protobuf.MethodOptions. */
const HTTP_EXTENSION = 72295728;

export function withBindings(descriptors: Uint8Array): Buffer {
  const set = fromBinary(FileDescriptorSetSchema, descriptors);
  for (const { package: scope, service: services } of set.file) {
    for (const { name, method: methods } of services) {
      for (const method of methods) {
        const value = `/bound/${scope}.${name}/${method.name}`;
        const rule = HttpRule.encode(HttpRule.fromPartial({ pattern: { $case: "post", value }, body: "*" })).finish();
        const data = new BinaryWriter().bytes(rule).finish();
        method.options ??= create(MethodOptionsSchema);
        method.options.$unknown = [
          ...(method.options.$unknown ?? []),
          { no: HTTP_EXTENSION, wireType: WireType.LengthDelimited, data },
        ];
      }
    }
  }
  return Buffer.from(toBinary(FileDescriptorSetSchema, set));
}
