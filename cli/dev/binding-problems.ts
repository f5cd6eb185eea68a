/**
 * The problems in the `google.api.http` annotations of a contract, with their places in its .proto
 * files.
 */
import { join } from "node:path";
import { createFileRegistry, type DescService } from "@bufbuild/protobuf";
import type { FileDescriptorProto, FileDescriptorSet } from "@bufbuild/protobuf/wkt";
import { bindingsOf } from "../../src/contract/http-rule.js";
import type { SourceProblem } from "./problem.js";

/** @param folder of the service, with a folder `proto` in it */
export function bindingProblems(descriptors: FileDescriptorSet, folder: string): SourceProblem[] {
  const services = [...createFileRegistry(descriptors).files].flatMap((file) => file.services);
  return services.flatMap((service) => problemsOf(service, folder));
}

/** The field numbers of `FileDescriptorProto.service` and `ServiceDescriptorProto.method`. */
const SERVICE = 6;
const METHOD = 2;

function problemsOf({ file, proto, methods }: DescService, folder: string): SourceProblem[] {
  const index = file.proto.service.indexOf(proto);
  return methods.flatMap((method) =>
    bindingsOf(method).problems.map((problem) => ({
      ...placeOf(file.proto, [SERVICE, index, METHOD, proto.method.indexOf(method.proto)]),
      file: join(folder, "proto", file.proto.name),
      message: `${method.parent.name}.${method.name}: google.api.http: ${problem}`,
    })),
  );
}

/** The place where an element of a file begins. Line and column count from 1. */
function placeOf(
  { sourceCodeInfo }: FileDescriptorProto,
  path: readonly number[],
): Pick<SourceProblem, "line" | "column"> {
  const found = sourceCodeInfo?.location.find((one) => `${one.path}` === `${path}`);
  const [line = 0, column = 0] = found?.span ?? [];
  return { line: line + 1, column: column + 1 };
}
