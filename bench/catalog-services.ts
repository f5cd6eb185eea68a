/**
 * The services of catalog.ts: a process that registers many services, each with its own contract,
 * and responds to every call with an empty message. catalog.ts starts it, and sends it an `Order`.
 * Later it sends the number of services that must leave and join again, one after the other.
 */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { pino } from "pino";
import { parseGrpcTarget } from "../src/address/address.js";
import { descriptorsOf } from "../src/contract/built-in-files.js";
import { filesOf } from "../src/contract/descriptor-set.js";
import { Instance } from "../src/gen/portico/registry/v1/registry.js";
import { MemoryBudget } from "../src/memory/memory-budget.js";
import { loadTransport } from "../src/rpc/load-transport.js";
import { type Registration, register } from "../src/rpc/registration.js";

export interface Order {
  /** The address of the authority. */
  readonly target: string;
  /** Names of the services, each with its enrolment token. */
  readonly services: readonly (readonly [name: string, token: string])[];
}

/** Registration streams on one connection. */
const STREAMS = 50;
const ENDPOINTS = ["Create", "Get", "Update", "Delete", "List"];
/**
 * The files that each service imports. They are in each contract, as the compiler writes them, with
 * google/protobuf/descriptor.proto.
 */
const IMPORTS = [...filesOf(descriptorsOf("google.api", "google.rpc", "google.protobuf"))];

/** The short name of each service's gRPC service. */
export const GRPC_SERVICE = "Records";
/** The method that the benchmark calls. */
export const ENDPOINT = "Get";

/**
 * A contract of one file with five endpoints and eleven messages, and its imports. No other service
 * has the same message names.
 */
export function contractOf(service: string): Pick<Instance, "descriptors" | "grpcServices"> {
  const scope = `bench.${service.replaceAll("-", "_")}.v1`;
  const messages = ["Record", "Address", "Item", "Price"].map((name) => messageOf(scope, name));
  for (const endpoint of ENDPOINTS) {
    messages.push(
      messageOf(scope, `${endpoint}Request`),
      ...(endpoint === "List" ? [messageOf(scope, "ListResponse")] : []),
    );
  }
  const location = messages.flatMap(({ field }, index) => [
    { path: [4, index], leadingComments: ` What ${service} keeps of one of its records, and how it is told apart.\n` },
    ...field.map((_, at) => ({
      path: [4, index, 2, at],
      leadingComments: " As the caller gave it, at most 100 bytes.\n",
    })),
  ]);
  const method = ENDPOINTS.map((name) => ({
    name,
    inputType: `.${scope}.${name}Request`,
    outputType: `.${scope}.${name === "List" ? "ListResponse" : "Record"}`,
  }));
  const file = create(FileDescriptorProtoSchema, {
    name: `bench/${service}/v1/records.proto`,
    package: scope,
    syntax: "proto3",
    dependency: ["google/protobuf/timestamp.proto", "google/api/annotations.proto", "google/rpc/status.proto"],
    messageType: messages,
    service: [{ name: GRPC_SERVICE, method }],
    sourceCodeInfo: { location },
  });
  const set = create(FileDescriptorSetSchema, {
    file: [...IMPORTS.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes)), file],
  });
  createFileRegistry(set);
  return {
    descriptors: Buffer.from(toBinary(FileDescriptorSetSchema, set)),
    grpcServices: [`${scope}.${GRPC_SERVICE}`],
  };
}

/** A message with six fields. */
function messageOf(scope: string, name: string) {
  const field = (fieldName: string, type: Type, more = {}) => ({
    ...{ name: fieldName, jsonName: fieldName.replace(/_./g, (found) => found[1]!.toUpperCase()), type },
    ...{ label: Label.OPTIONAL, ...more },
  });
  const parent = name === "Record" || name === "Address" ? "Price" : "Record";
  const fields = [
    field("id", Type.STRING),
    field("display_name", Type.STRING),
    field("amount", Type.INT64),
    field("created", Type.MESSAGE, { typeName: ".google.protobuf.Timestamp" }),
    field("labels", Type.STRING, { label: Label.REPEATED }),
    field("details", Type.MESSAGE, { typeName: `.${scope}.${parent}` }),
  ];
  return { name, field: fields.map((one, index) => ({ ...one, number: index + 1 })) };
}

/**
 * Responds to every call with an empty message.
 * @returns the address
 */
async function serve(): Promise<string> {
  const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
    stream.resume().on("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function run({ target, services }: Order): Promise<void> {
  const address = await serve();
  const limits = { maxBody: 4 * 1024 ** 2, callTime: 30_000, maxCallTime: 90_000 };
  const transport = await loadTransport("http2", limits as never, {} as never, new MemoryBudget());
  const log = pino({ level: "error" });
  let channel = transport.connect(parseGrpcTarget(target));
  const join = (index: number): Registration => {
    const [service, token] = services[index] as Order["services"][number];
    if (index % STREAMS === 0) channel = transport.connect(parseGrpcTarget(target));
    const instance = Instance.fromPartial({ service, id: "one", addresses: [address], ...contractOf(service) });
    return register({ channel, metadata: [["authorization", `Bearer ${token}`]], instance, log });
  };
  const held: Registration[] = [];
  for (let index = 0; index < services.length; index++) {
    held.push(join(index));
    if (index % STREAMS === 0) await held[index]!.registered();
  }
  await Promise.all(held.map((one) => one.registered()));
  process.send?.("ready");
  process.on("message", async (changes: number) => {
    for (let change = 0; change < changes; change++) {
      held[change]?.close();
      held[change] = join(change);
      await held[change]?.registered();
    }
    process.send?.("changed");
  });
}

if (process.send !== undefined) process.once("message", (order: Order) => void run(order));
