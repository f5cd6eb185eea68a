import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import t, { type Test } from "tap";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { Code } from "../../src/errors.js";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService as V1,
} from "../../src/gen/grpc/reflection/v1/reflection.js";
import { ServerReflectionService as V1Alpha } from "../../src/gen/grpc/reflection/v1alpha/reflection.js";
import { stream } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { part, type Service } from "../../src/rpc/service.js";
import { helloworld } from "../support/helloworld.js";
import { RawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

type Asked = NonNullable<ServerReflectionRequest["messageRequest"]>;
type ReflectionResponse = NonNullable<ServerReflectionResponse["messageResponse"]>;

/** A service with extensions, and with every other kind of declaration that has a name. */
const zoo: Service = {
  name: "zoo",
  parts: [part({ feed: { ...RawService.one, path: "/zoo.Zoo/Feed" } }, { feed: (request) => request })],
  descriptors: toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: [
        {
          name: "animal.proto",
          package: "zoo",
          syntax: "proto2",
          messageType: [
            {
              name: "Animal",
              field: [
                { name: "name", number: 1, type: Type.STRING, label: Label.OPTIONAL },
                { name: "legs", number: 2, type: Type.INT32, label: Label.OPTIONAL, oneofIndex: 0 },
              ],
              oneofDecl: [{ name: "limbs" }],
              extensionRange: [{ start: 100, end: 200 }],
              nestedType: [{ name: "Tail", enumType: [{ name: "Length", value: [{ name: "SHORT", number: 0 }] }] }],
            },
          ],
        },
        {
          name: "zoo.proto",
          package: "zoo",
          syntax: "proto2",
          dependency: ["animal.proto"],
          extension: [
            { name: "stripes", number: 120, extendee: ".zoo.Animal", type: Type.INT32, label: Label.OPTIONAL },
            { name: "spots", number: 110, extendee: ".zoo.Animal", type: Type.INT32, label: Label.OPTIONAL },
          ],
          service: [{ name: "Zoo", method: [{ name: "Feed", inputType: ".zoo.Animal", outputType: ".zoo.Animal" }] }],
        },
      ],
    }),
  ),
};

const channel = new InProcessChannel(dispatcherOf([helloworld, zoo]));

/** Sends all requests on one stream, and returns the responses. */
async function ask(version: typeof V1 | typeof V1Alpha, ...asked: Asked[]): Promise<ReflectionResponse[]> {
  const { send, drained, end, responses } = stream(channel, (version as typeof V1).serverReflectionInfo);
  const received: ReflectionResponse[] = [];
  const reading = (async () => {
    for await (const { messageResponse } of responses) if (messageResponse) received.push(messageResponse);
  })();
  for (const messageRequest of asked) if (!send({ host: "", messageRequest })) await drained();
  end();
  await reading;
  return received;
}

function filesIn(response: ReflectionResponse | undefined): string[] {
  if (response?.$case !== "fileDescriptorResponse") return [];
  return response.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
}

async function answersFiles(t: Test, asked: Asked, files: string[]): Promise<void> {
  for (const version of [V1, V1Alpha]) t.same(filesIn((await ask(version, asked))[0]), files);
}

t.test("reflection lists the services", async (t) => {
  for (const version of [V1, V1Alpha]) {
    const [response] = await ask(version, { $case: "listServices", value: "*" });
    t.same(response?.$case === "listServicesResponse" && response.value.service.map(({ name }) => name), [
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "helloworld.Helloworld",
      "zoo.Zoo",
    ]);
  }
});

const SYMBOLS: [what: string, symbol: string, files: string[]][] = [
  ["a gRPC service", "zoo.Zoo", ["zoo.proto", "animal.proto"]],
  ["a method", "zoo.Zoo.Feed", ["zoo.proto", "animal.proto"]],
  ["an extension", "zoo.spots", ["zoo.proto", "animal.proto"]],
  ["a message", "zoo.Animal", ["animal.proto"]],
  ["a field", "zoo.Animal.name", ["animal.proto"]],
  ["a oneof", "zoo.Animal.limbs", ["animal.proto"]],
  ["a nested message", "zoo.Animal.Tail", ["animal.proto"]],
  ["an enum", "zoo.Animal.Tail.Length", ["animal.proto"]],
  ["an enum value, in the scope of its enum", "zoo.Animal.Tail.SHORT", ["animal.proto"]],
  ["a message in a file of src/gen", "helloworld.CallRequest", ["helloworld/helloworld.proto"]],
  ["reflection itself", "grpc.reflection.v1.ServerReflection", ["grpc/reflection/v1/reflection.proto"]],
  ["an unknown name: none", "zoo.Unknown", []],
  ["a package: none", "zoo", []],
  ["a name with a leading dot: none", ".zoo.Zoo", []],
];

for (const [what, value, files] of SYMBOLS) {
  t.test(`finds the file of ${what}`, (t) => answersFiles(t, { $case: "fileContainingSymbol", value }, files));
}

t.test("finds a file by its name", async (t) => {
  await answersFiles(t, { $case: "fileByFilename", value: "zoo.proto" }, ["zoo.proto", "animal.proto"]);
  await answersFiles(t, { $case: "fileByFilename", value: "unknown.proto" }, []);
});

t.test("finds the file of an extension by its number", async (t) => {
  const extension = (containingType: string, extensionNumber: number): Asked => ({
    $case: "fileContainingExtension",
    value: { containingType, extensionNumber },
  });
  await answersFiles(t, extension("zoo.Animal", 120), ["zoo.proto", "animal.proto"]);
  await answersFiles(t, extension("zoo.Animal", 121), []);
  await answersFiles(t, extension("zoo.Zoo", 120), []);
  await answersFiles(t, extension("google.protobuf.MethodOptions", 50701), [
    "portico/options/v1/options.proto",
    "google/protobuf/descriptor.proto",
  ]);
});

t.test("lists the extension numbers of a message", async (t) => {
  for (const [value, numbers] of [
    ["zoo.Animal", [110, 120]],
    ["helloworld.CallRequest", []],
  ] as const) {
    const [response] = await ask(V1, { $case: "allExtensionNumbersOfType", value });
    t.match(response, {
      $case: "allExtensionNumbersResponse",
      value: { baseTypeName: value, extensionNumber: numbers },
    });
  }
});

t.test("an unknown name gets NOT_FOUND, and the stream continues", async (t) => {
  const responses = await ask(
    V1,
    { $case: "fileContainingSymbol", value: "zoo.Unknown" },
    { $case: "fileByFilename", value: "unknown.proto" },
    { $case: "allExtensionNumbersOfType", value: "zoo.Unknown" },
    { $case: "listServices", value: "" },
  );
  t.match(
    responses.map((response) => (response.$case === "errorResponse" ? response.value.errorCode : response.$case)),
    [Code.NOT_FOUND, Code.NOT_FOUND, Code.NOT_FOUND, "listServicesResponse"],
  );
});

t.test("an import is sent only once on a stream", async (t) => {
  const responses = await ask(
    V1,
    { $case: "fileByFilename", value: "zoo.proto" },
    { $case: "fileByFilename", value: "zoo.proto" },
    { $case: "fileByFilename", value: "animal.proto" },
  );
  t.same(responses.map(filesIn), [["zoo.proto", "animal.proto"], ["zoo.proto"], ["animal.proto"]]);
});

t.test("the files are the bytes of the build, and include all imports", async (t) => {
  const [response] = await ask(V1, { $case: "fileContainingSymbol", value: "portico.auth.v1.Rules" });
  if (response?.$case !== "fileDescriptorResponse") throw new Error("it is known");
  for (const bytes of response.value.fileDescriptorProto) t.ok(descriptorsOf().includes(bytes));
  const file = response.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const [asked] = file;
  if (asked === undefined) throw new Error("it has a file");
  const registry = createFileRegistry(asked, (name) => file.find((one) => one.name === name));
  t.ok(registry.getService("portico.auth.v1.Rules"));
});
