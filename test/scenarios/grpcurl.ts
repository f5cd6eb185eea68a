/**
 * A small replacement for grpcurl (https://github.com/fullstorydev/grpcurl), which is not installed
 * everywhere. It knows nothing of Portico: it asks the server by reflection for services and
 * methods.
 *
 *     grpcurl -plaintext [-H 'name: value'] 127.0.0.1:8081 list
 *     grpcurl -plaintext [-H 'name: value'] [-d '{"json":1}'] 127.0.0.1:8081 \
 *         helloworld.Helloworld/Call
 */
import { parseArgs } from "node:util";
import { create, createFileRegistry, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Client, credentials, loadPackageDefinition, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const { values, positionals } = parseArgs({
  args: process.argv.slice(2).map((word) => (word === "-plaintext" ? "--plaintext" : word)),
  options: {
    plaintext: { type: "boolean" },
    header: { type: "string", short: "H", default: "x-none: none" },
    data: { type: "string", short: "d", default: "{}" },
  },
  allowPositionals: true,
});
const [address = "", target = ""] = positionals;
const options = { deadline: Date.now() + 10_000 };

if (target === "list") await list();
else await call(target);

async function list(): Promise<void> {
  const response = await ask({ list_services: "" });
  for (const { name } of response.list_services_response.service) console.log(name);
}

async function call(path: string): Promise<void> {
  const [service = "", name = ""] = path.split("/");
  const described = await ask({ file_containing_symbol: service });
  const file = described.file_descriptor_response.file_descriptor_proto.map((bytes: Uint8Array) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
  const method = registry.getService(service)?.methods.find((one) => one.name === name);
  if (method === undefined) throw new Error(`${service} has no method ${name}`);
  const request = toBinary(method.input, fromJson(method.input, JSON.parse(values.data)));
  const response = await send(`/${path}`, Buffer.from(request));
  if (response instanceof Uint8Array) {
    console.log(JSON.stringify(toJson(method.output, fromBinary(method.output, response)), null, 2));
  } else {
    console.error(`ERROR:\n  Code: ${status[response.code]}\n  Message: ${response.details}`);
    process.exitCode = 64 + response.code;
  }
}

/** The header from the command line, for the reflection request and for the call. */
function metadata(): Metadata {
  const [name = "", value = ""] = values.header.split(/: */, 2);
  const metadata = new Metadata();
  metadata.set(name, value);
  return metadata;
}

function send(path: string, request: Buffer): Promise<Uint8Array | ServiceError> {
  const client = new Client(address, credentials.createInsecure());
  const bytes = (message: Buffer) => message;
  return new Promise<Uint8Array | ServiceError>((resolve) => {
    client.makeUnaryRequest(path, bytes, bytes, request, metadata(), options, (error, response) =>
      resolve(error ?? response ?? Buffer.alloc(0)),
    );
  }).finally(() => client.close());
}

/** Sends one request to the reflection service. */
// biome-ignore lint/suspicious/noExplicitAny: messages loaded at run time have no types.
async function ask(question: object): Promise<any> {
  const proto = loadSync("grpc/reflection/v1/reflection.proto", {
    includeDirs: [`${import.meta.dirname}/../../proto`],
    keepCase: true,
  });
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const { v1 } = (loadPackageDefinition(proto) as any).grpc.reflection;
  const client = new v1.ServerReflection(address, credentials.createInsecure());
  const stream = client.ServerReflectionInfo(metadata(), options);
  stream.end(question);
  try {
    for await (const response of stream) return response;
  } finally {
    client.close();
  }
}
