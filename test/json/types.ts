/** The message types of the .proto files beside this one. */
import { execFileSync } from "node:child_process";
import type { DescMessage } from "@bufbuild/protobuf";
import { readDescriptors } from "../../src/endpoint.js";
import { compileCodecs } from "../../src/json/compile.js";

export const types = readDescriptors(
  execFileSync("node_modules/.bin/buf", ["build", "test/json", "--as-file-descriptor-set", "-o", "-"]),
);
export const codecOf = compileCodecs(types);

/** A message type by its name in the package json. */
export function typeOf(name: string): DescMessage {
  const type = types.getMessage(`json.${name}`) ?? types.getMessage(name);
  if (type === undefined) throw new Error(`no message ${name}`);
  return type;
}
