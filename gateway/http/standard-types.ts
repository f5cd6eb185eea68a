/**
 * The types that services may put into a google.protobuf.Any without importing them in their
 * contract: the types of google.protobuf and google.rpc.
 */
import { createRegistry, type DescFile, type DescMessage, type Registry } from "@bufbuild/protobuf";
import * as wkt from "@bufbuild/protobuf/wkt";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { readDescriptors } from "../../src/contract/endpoint.js";

let standard: Registry | undefined;

/** The standard type with a full name; undefined for none. */
export function standardType(name: string): DescMessage | undefined {
  standard ??= createRegistry(
    ...(Object.values(wkt) as unknown[]).filter(isFile),
    readDescriptors(descriptorsOf("google.rpc")),
  );
  return standard.getMessage(name);
}

function isFile(exported: unknown): exported is DescFile {
  return typeof exported === "object" && exported !== null && "kind" in exported && exported.kind === "file";
}
