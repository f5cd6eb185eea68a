/**
 * Servers implement reflection differently. Each server here responds in its own way, with the
 * descriptors of one small service.
 */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { readContract } from "../../../services/registry/contract.js";
import { reflect } from "../../../services/registry/reflection-client.js";
import { Code } from "../../../src/errors.js";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from "../../../src/gen/grpc/reflection/v1/reflection.js";
import { ServerReflectionService as ServerReflectionAlphaService } from "../../../src/gen/grpc/reflection/v1alpha/reflection.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { compile } from "./compile.js";

type Answer = ServerReflectionResponse["messageResponse"];
type Question = NonNullable<ServerReflectionRequest["messageRequest"]>;

const files = {
  "clock.proto": `syntax = "proto3";
package clock;
import "shared/zone.proto";
service Clock { rpc Now(NowRequest) returns (shared.Moment); }
message NowRequest { shared.Zone time_zone = 1; }
`,
  "shared/zone.proto": `syntax = "proto3";
package shared;
import "google/protobuf/timestamp.proto";
message Zone { string long_name = 1; }
message Moment { google.protobuf.Timestamp at = 1; }
`,
};

const listed = (...names: string[]): Answer => ({
  $case: "listServicesResponse",
  value: { service: names.map((name) => ({ name })) },
});
const described = (...some: (FileDescriptorProto | undefined)[]): Answer => ({
  $case: "fileDescriptorResponse",
  value: {
    fileDescriptorProto: some.flatMap((file) => (file ? Buffer.from(toBinary(FileDescriptorProtoSchema, file)) : [])),
  },
});
const failed = (errorCode: Code, errorMessage: string): Answer => ({
  $case: "errorResponse",
  value: { errorCode, errorMessage },
});

/** How a server responds to a request, given all files by name. */
type Manner = (question: Question, all: ReadonlyMap<string, FileDescriptorProto>) => Answer | "nothing";

const oneByOne: Manner = ({ $case, value }, all) => {
  if ($case === "listServices")
    return listed("clock.Clock", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection");
  if ($case === "fileContainingSymbol") return described(all.get("clock.proto"));
  const file = all.get(String(value));
  return file ? described(file) : failed(Code.NOT_FOUND, `no file ${value}`);
};

/** Replaces the response to one kind of request. */
const but =
  (kind: Question["$case"], manner: Manner): Manner =>
  (question, all) =>
    (question.$case === kind ? manner : oneByOne)(question, all);

const understood: readonly (readonly [name: string, manner: Manner, version?: "v1alpha"])[] = [
  ["one file per response", oneByOne],
  [
    "all files at once, importers first",
    but("fileContainingSymbol", (_question, all) => described(...[...all.values()].reverse())),
  ],
  ["v1alpha only", oneByOne, "v1alpha"],
  [
    "without the well-known files",
    but("fileByFilename", (question, all) =>
      String(question.value).startsWith("google/") ? failed(Code.NOT_FOUND, "no such file") : oneByOne(question, all),
    ),
  ],
  [
    "without JSON names, as C++ does", //
    (question, all) => oneByOne(question, new Map([...all].map(([name, file]) => [name, withoutJsonNames(file)]))),
  ],
];

const refused: readonly (readonly [name: string, manner: Manner | undefined, code: Code, told: RegExp])[] = [
  ["no reflection", undefined, Code.UNIMPLEMENTED, /has no reflection/],
  [
    "a failing list",
    but("listServices", () => failed(Code.INTERNAL, "broken")),
    Code.INTERNAL,
    /not list its services: broken/,
  ],
  ["a response of another kind", but("listServices", () => described()), Code.INTERNAL, /responds with something else/],
  ["an empty response", but("listServices", () => undefined), Code.INTERNAL, /ended in the middle/],
  [
    "a service that it cannot describe",
    but("fileContainingSymbol", () => failed(Code.NOT_FOUND, "unknown symbol")),
    Code.INTERNAL,
    /not describe clock\.Clock, which it lists: unknown symbol/,
  ],
  [
    "bytes of something else",
    but("fileContainingSymbol", () => ({
      $case: "fileDescriptorResponse",
      value: { fileDescriptorProto: [Buffer.from("hello")] },
    })),
    Code.INTERNAL,
    /bytes that are no file descriptor/,
  ],
  [
    "endless imports",
    but("fileByFilename", ({ value }) =>
      described(create(FileDescriptorProtoSchema, { name: String(value), dependency: [`${value}x`] })),
    ),
    Code.INTERNAL,
    /sends too many descriptors|names too many files/,
  ],
  [
    "too many imports that it does not have",
    but("fileContainingSymbol", () =>
      described(
        create(FileDescriptorProtoSchema, { dependency: Array.from({ length: 2000 }, (_, n) => `${n}.proto`) }),
      ),
    ),
    Code.INTERNAL,
    /names too many files/,
  ],
  [
    "more than 4 MiB in small responses",
    but("fileByFilename", ({ value }) =>
      described(
        create(FileDescriptorProtoSchema, {
          name: String(value),
          package: "x".repeat(1024 ** 2),
          dependency: [`${value}x`],
        }),
      ),
    ),
    Code.INTERNAL,
    /sends too many descriptors/,
  ],
];

function withoutJsonNames(file: FileDescriptorProto): FileDescriptorProto {
  const copy = structuredClone(file);
  for (const message of copy.messageType) for (const field of message.field) field.jsonName = "";
  return copy;
}

async function serve(t: Test, manner: Manner | undefined, version: "v1" | "v1alpha"): Promise<GrpcChannel> {
  const all = new Map(set.file.map((file) => [file.name, file]));
  const server = new Server();
  if (manner !== undefined) {
    server.addService(version === "v1" ? ServerReflectionService : ServerReflectionAlphaService, {
      serverReflectionInfo: (call: import("@grpc/grpc-js").ServerDuplexStream<ServerReflectionRequest, unknown>) => {
        call.on("data", ({ messageRequest }: ServerReflectionRequest) => {
          const messageResponse = messageRequest && manner(messageRequest, all);
          if (messageResponse !== "nothing") call.write({ validHost: "", messageResponse });
        });
        call.on("end", () => call.end());
      },
    });
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const channel = new GrpcChannel({ host: "127.0.0.1", port });
  t.teardown(() => {
    channel.close();
    server.forceShutdown();
  });
  return channel;
}

const bytes = compile(t.testdir({}), files);
const set = fromBinary(FileDescriptorSetSchema, bytes);
const soon = () => performance.now() + 60_000;
const { signal } = new AbortController();

for (const [name, manner, version = "v1"] of understood) {
  t.test(`understood: ${name}`, async (t) => {
    const { descriptors, grpcServices } = await reflect(await serve(t, manner, version), soon(), signal);
    t.same(grpcServices, ["clock.Clock"], "without infrastructure");
    const contract = readContract("clock", descriptors, grpcServices);
    t.same(
      contract.endpoints.map((endpoint) => endpoint.name),
      ["clock:Clock.Now"],
    );
    const [now] = contract.endpoints;
    t.equal(now?.method.input.fields[0]?.jsonName, "timeZone");
    t.equal(now?.method.output.fields[0]?.message?.typeName, "google.protobuf.Timestamp");
    const read = fromBinary(FileDescriptorSetSchema, contract.descriptors).file;
    t.same(
      read.map((file) => file.name),
      set.file.map((file) => file.name),
      "imports before importers",
    );
  });
}

for (const [name, manner, code, told] of refused) {
  t.test(`refused: ${name}`, async (t) => {
    const channel = await serve(t, manner, "v1");
    await t.rejects(reflect(channel, soon(), signal), { code, message: told });
  });
}

t.test("a server that does not respond is abandoned at the deadline", async (t) => {
  const channel = await serve(t, () => "nothing", "v1");
  await t.rejects(reflect(channel, performance.now() + 100, signal), { code: Code.DEADLINE_EXCEEDED });
});
