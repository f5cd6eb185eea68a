/**
 * A service that returns each request unchanged, for every kind of field: the messages of
 * test/json/types.proto.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { part, type Service } from "../../../src/rpc/service.js";
import { BYTES } from "../../rpc/raw-service.js";
import { compile } from "../../services/registry/compile.js";

/** The messages of the endpoints. `Call` is at the service's short path too. */
const MESSAGES = {
  Call: "Implicit",
  Optional: "Optional",
  Lists: "Lists",
  Maps: "Maps",
  Choice: "Choice",
  WellKnown: "WellKnown",
  Prototype: "Prototype",
};

const endpoints = Object.entries(MESSAGES).map(([name, type]) => `  rpc ${name}(json.${type}) returns (json.${type});`);

const CONTRACT = `syntax = "proto3";
package kinds;
import "google/protobuf/wrappers.proto";
import "types.proto";
// Returns what it was sent.
service Kinds {
${endpoints.join("\n")}
  rpc Watch(json.Implicit) returns (stream json.Implicit);
  rpc Wrapped(google.protobuf.Int64Value) returns (google.protobuf.Int64Value);
  rpc Converse(stream json.Implicit) returns (stream json.Implicit);
}
`;

/**
 * Without Any, because its other members depend on the type that it names, which no schema can
 * express.
 */
const types = readFileSync("test/json/types.proto", "utf8").replace("google.protobuf.Any any = 1;", "");

function compiled(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  try {
    return compile(folder, { "types.proto": types, "kinds.proto": CONTRACT });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const method = (name: string) =>
  ({ path: `/kinds.Kinds/${name}`, requestStream: false, responseStream: false, ...BYTES }) as const;

export function createKinds(): Service {
  const unary = [...Object.keys(MESSAGES), "Wrapped"];
  const methods = {
    ...Object.fromEntries(unary.map((name) => [name, method(name)])),
    Watch: { ...method("Watch"), responseStream: true as const },
    Converse: { ...method("Converse"), requestStream: true as const, responseStream: true as const },
  };
  const handlers = {
    ...Object.fromEntries(unary.map((name) => [name, (request: Buffer) => request])),
    async *Watch(request: Buffer) {
      yield request;
    },
    Converse: (requests: AsyncIterable<Buffer>) => requests,
  };
  // biome-ignore lint/suspicious/noExplicitAny: names made from a table have no types of their own.
  return { name: "kinds", descriptors: compiled(), parts: [part(methods as any, handlers as any)] };
}
