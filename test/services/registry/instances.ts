/** Instances to register, for tests. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { descriptorsOf } from "../../../src/contract/own-files.js";
import { Instance, type WatchResponse } from "../../../src/gen/portico/registry/v1/registry.js";

/** Descriptors of everything in proto/, some 200 KB. */
export const LARGE = descriptorsOf();
/** Those of helloworld alone, 1 KB. */
const SMALL = Buffer.from(
  toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: fromBinary(FileDescriptorSetSchema, LARGE).file.filter(({ package: name }) => name === "helloworld"),
    }),
  ),
);

/** One of `greeter`, which serves what helloworld does. */
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

/** A message of a watch, short: `+greeter/one -greeter/two complete`. */
export function show({ joined, left, complete }: WatchResponse): string {
  const name = ({ service, id }: Instance) => `${service}/${id}`;
  const events = [...joined.map((one) => `+${name(one)}`), ...left.map((one) => `-${name(one)}`)];
  return [...events, ...(complete ? ["complete"] : [])].join(" ");
}
