/** The message types of the .proto files in this folder. */
import type { DescMessage } from "@bufbuild/protobuf";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { compileCodecs } from "../../src/json/compile.js";
import { buildDescriptors } from "../support/descriptors.js";

export const types = readDescriptors(buildDescriptors("test/json"));
export const codecOf = compileCodecs(types);

/** A message type by its name in the package json. */
export function typeOf(name: string): DescMessage {
  const type = types.getMessage(`json.${name}`) ?? types.getMessage(name);
  if (type === undefined) throw new Error(`no message ${name}`);
  return type;
}
