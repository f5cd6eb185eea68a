// A contract declares the subject under which its service is listed.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t, { type Test } from "tap";
import { subjectOf } from "../../../src/contract/endpoint.js";
import { buildDescriptors } from "../../support/descriptors.js";

const OPTION = 'import "portico/options/v1/options.proto";';
const OWN = readOptions("extend google.protobuf.ServiceOptions { string subject = 50701; }");

function readOptions(extension: string): string {
  return `syntax = "proto3"; package portico.options.v1; import "google/protobuf/descriptor.proto"; ${extension}`;
}

/**
 * The subject of a service with this import and body.
 * @param options the content of `options.proto`
 */
function read(t: Test, imports: string, body: string, options = OWN): string {
  const folder = t.testdir();
  mkdirSync(join(folder, "portico/options/v1"), { recursive: true });
  writeFileSync(join(folder, "portico/options/v1/options.proto"), options);
  writeFileSync(join(folder, "shop.proto"), `syntax = "proto3"; package shop; ${imports} service Shop { ${body} }`);
  const set = create(FileDescriptorSetSchema, fromBinary(FileDescriptorSetSchema, buildDescriptors(folder)));
  return subjectOf(createFileRegistry(set).getService("shop.Shop")!);
}

for (const [title, imports, body, subject, options] of [
  ["none", "", "", ""],
  ["none, with the option's file", OPTION, "", ""],
  ["a subject", OPTION, 'option (portico.options.v1.subject) = "Data";', "Data"],
  [
    "at most 40 characters, none of them a control character",
    OPTION,
    `option (portico.options.v1.subject) = "\\033[31m${"long ".repeat(20)}";`,
    `[31m${"long ".repeat(20)}`.slice(0, 40).trim(),
  ],
  [
    "none where a foreign option has the name and another type",
    OPTION,
    "option (portico.options.v1.subject) = 7;",
    "",
    readOptions("extend google.protobuf.ServiceOptions { int32 subject = 50701; }"),
  ],
] as const) {
  t.test(`a service declares ${title}`, async (t) => {
    t.equal(read(t, imports, body, options), subject);
  });
}
