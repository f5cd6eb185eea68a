/**
 * The program that the conformance runner tests. Each case goes over HTTP through the complete
 * built program to a gRPC service, which records the bytes that it receives and sends given bytes.
 *
 *     JSON to protobuf    Take: the result is what the service received
 *     protobuf to JSON    Give: the service sends the bytes of the case, the result is the body
 *     JSON to JSON        Echo: the service sends what it received
 *
 * Cases without JSON are skipped. The runner and this program exchange messages of
 * conformance.proto over standard input and output, each with its length in front
 * (conformance_test_runner.cc).
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { type Portico, start } from "../support/process.js";
import { buildDescriptors } from "./suite.js";

/** The members of conformance.ConformanceRequest and -Response that are used here. */
interface Case {
  readonly payload: { readonly case?: string; readonly value?: unknown };
  readonly requestedOutputFormat: number;
  readonly messageType: string;
  readonly testCategory: number;
}
interface Result {
  readonly case: "protobufPayload" | "jsonPayload" | "parseError" | "serializeError" | "runtimeError" | "skipped";
  readonly value: string | Uint8Array;
}

const PROTOBUF = 1;
const JSON_FORMAT = 2;
const JSON_IGNORE_UNKNOWN = 3;

const SERVICES: Readonly<Record<string, string>> = {
  "protobuf_test_messages.proto3.TestAllTypesProto3": "Proto3",
  "protobuf_test_messages.proto2.TestAllTypesProto2": "Proto2",
  "protobuf_test_messages.editions.proto3.TestAllTypesProto3": "Proto3InEditions",
  "protobuf_test_messages.editions.proto2.TestAllTypesProto2": "Proto2InEditions",
  "protobuf_test_messages.editions.TestAllTypesEdition2023": "Edition2023",
};

/** 400: the JSON was refused. 502: the service sent bytes that have no JSON. */
const ERRORS: Readonly<Record<number, Result["case"]>> = { 400: "parseError", 502: "serializeError" };

/** The bytes that the service received last, and the bytes that it sends. */
let taken: Buffer = Buffer.alloc(0);
let given: Buffer = Buffer.alloc(0);

const folder = mkdtempSync(join(tmpdir(), "portico-conformance-"));
const descriptors = buildDescriptors(folder);
const types = readDescriptors(descriptors);
const server = new grpc.Server();
const gateway = await startGateway(await serve());
process.on("exit", () => {
  gateway.child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
await runCases();
await gateway.stop();
server.forceShutdown();

async function serve(): Promise<string> {
  const bytes = (value: Buffer): Buffer => value;
  const responses: Record<string, (request: Buffer) => Buffer> = {
    Take: () => Buffer.alloc(0),
    Give: () => given,
    Echo: (request) => request,
  };
  for (const service of Object.values(SERVICES)) {
    const definition: Record<string, grpc.MethodDefinition<Buffer, Buffer>> = {};
    const implementation: grpc.UntypedServiceImplementation = {};
    for (const [name, response] of Object.entries(responses)) {
      definition[name] = {
        path: `/door.conformance.${service}/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      };
      implementation[name] = ((call: grpc.ServerUnaryCall<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) => {
        taken = call.request;
        callback(null, response(call.request));
      }) as grpc.UntypedHandleCall;
    }
    server.addService(definition, implementation);
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return `127.0.0.1:${port}`;
}

async function startGateway(target: string): Promise<Portico> {
  const file = join(folder, "conformance.binpb");
  writeFileSync(file, descriptors);
  const data = join(folder, "data");
  const config = join(folder, "portico.json");
  writeFileSync(config, JSON.stringify({ services: [{ name: "conformance", target, descriptors: file }] }));
  // The suite expects that zeros are omitted, which is the default of proto3 JSON.
  return start(["server"], { PORTICO_DATA: data, PORTICO_CONFIG: config, PORTICO_OMIT_ZEROS: "true" });
}

async function runCases(): Promise<void> {
  const requestType = types.getMessage("conformance.ConformanceRequest") as DescMessage;
  const responseType = types.getMessage("conformance.ConformanceResponse") as DescMessage;
  let pending = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32LE(0)) {
      const end = 4 + pending.readUInt32LE(0);
      const result = await respond(fromBinary(requestType, pending.subarray(4, end)) as unknown as Case);
      pending = pending.subarray(end);
      const response = toBinary(responseType, create(responseType, { result }));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(response.length);
      process.stdout.write(Buffer.concat([length, response]));
    }
  }
}

async function respond(request: Case): Promise<Result> {
  const { payload, requestedOutputFormat: output, messageType, testCategory } = request;
  // The first request of the runner: which cases are expected to fail. None are.
  if (messageType === "conformance.FailureSet") return { case: "protobufPayload", value: new Uint8Array() };
  const service = SERVICES[messageType];
  if (service === undefined) return { case: "runtimeError", value: `no service for ${messageType}` };
  if (testCategory === JSON_IGNORE_UNKNOWN) return { case: "skipped", value: "unknown fields are refused" };
  if (payload.case === "jsonPayload" && output === PROTOBUF) {
    const { error } = await post(service, "Take", payload.value as string);
    return error ?? { case: "protobufPayload", value: taken };
  }
  if (payload.case === "jsonPayload" && output === JSON_FORMAT) {
    const { error, body } = await post(service, "Echo", payload.value as string);
    return error ?? { case: "jsonPayload", value: body };
  }
  if (payload.case === "protobufPayload" && output === JSON_FORMAT) {
    given = Buffer.from(payload.value as Uint8Array);
    const { error, body } = await post(service, "Give", "{}");
    return error ?? { case: "jsonPayload", value: body };
  }
  return { case: "skipped", value: "has no JSON" };
}

async function post(service: string, endpoint: string, json: string): Promise<{ error?: Result; body: string }> {
  const response = await fetch(`${gateway.address("HTTP")}/conformance/${service}/${endpoint}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: json,
    signal: AbortSignal.timeout(10_000),
  });
  const body = await response.text();
  if (response.status === 200) return { body };
  return { error: { case: ERRORS[response.status] ?? "runtimeError", value: `${response.status} ${body}` }, body };
}
