/** Instances to register, for tests. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Instance, type WatchResponse } from "../../../src/gen/portico/registry/v1/registry.js";

/** Descriptors of everything in proto/, about 200 KB. */
export const LARGE = descriptorsOf();
/** The descriptors of helloworld alone, 1 KB. */
const SMALL = Buffer.from(
  toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: fromBinary(FileDescriptorSetSchema, LARGE).file.filter(({ package: name }) => name === "helloworld"),
    }),
  ),
);

/**
 * Descriptors that declare gRPC services with these full names, such as `shop.Orders`. Each has an
 * endpoint `Call`.
 */
export function declaring(...grpcServices: string[]): Buffer {
  const file = grpcServices.map((grpcService, index) => {
    const scope = grpcService.slice(0, grpcService.lastIndexOf("."));
    const type = `.${scope}.Empty${index}`;
    const method = [{ name: "Call", inputType: type, outputType: type }];
    return create(FileDescriptorProtoSchema, {
      name: `${index}.proto`,
      package: scope,
      syntax: "proto3",
      messageType: [{ name: `Empty${index}` }],
      service: [{ name: grpcService.slice(scope.length + 1), method }],
    });
  });
  return Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
}

/** An instance of `greeter`, which serves the same gRPC service as helloworld. */
export function greeter(changes: Partial<Instance> = {}): Instance {
  return Instance.fromPartial({
    service: "greeter",
    id: "one",
    addresses: ["127.0.0.1:9000"],
    descriptors: SMALL,
    grpcServices: ["helloworld.Helloworld"],
    ...changes,
  });
}

/** A message of a watch in short form: `+greeter/one -greeter/two complete`. */
export function show({ joined, left, complete }: WatchResponse): string {
  const name = ({ service, id }: Instance) => `${service}/${id}`;
  const events = [...joined.map((one) => `+${name(one)}`), ...left.map((one) => `-${name(one)}`)];
  return [...events, ...(complete ? ["complete"] : [])].join(" ");
}
