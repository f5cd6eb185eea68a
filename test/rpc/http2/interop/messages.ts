/**
 * The part of the messages and the service of gRPC's interoperability tests
 * (https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md) that the cases need.
 */
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import type { MethodDefinition } from "../../../../src/rpc/definition.js";

type FieldOf = readonly [name: string, number: number, type: Type | string, label?: Label];

const MESSAGES: Record<string, readonly FieldOf[]> = {
  Empty: [],
  Payload: [["body", 2, Type.BYTES]],
  EchoStatus: [
    ["code", 1, Type.INT32],
    ["message", 2, Type.STRING],
  ],
  SimpleRequest: [
    ["response_size", 2, Type.INT32],
    ["payload", 3, "Payload"],
    ["response_status", 7, "EchoStatus"],
  ],
  SimpleResponse: [["payload", 1, "Payload"]],
  StreamingInputCallRequest: [["payload", 1, "Payload"]],
  StreamingInputCallResponse: [["aggregated_payload_size", 1, Type.INT32]],
  ResponseParameters: [
    ["size", 1, Type.INT32],
    ["interval_us", 2, Type.INT32],
  ],
  StreamingOutputCallRequest: [
    ["response_parameters", 2, "ResponseParameters", Label.REPEATED],
    ["payload", 3, "Payload"],
    ["response_status", 7, "EchoStatus"],
  ],
  StreamingOutputCallResponse: [["payload", 1, "Payload"]],
};

/** Name, request, response, whether the requests are a stream, and whether the responses are. */
const METHODS: readonly (readonly [string, string, string, boolean, boolean])[] = [
  ["EmptyCall", "Empty", "Empty", false, false],
  ["UnaryCall", "SimpleRequest", "SimpleResponse", false, false],
  ["StreamingOutputCall", "StreamingOutputCallRequest", "StreamingOutputCallResponse", false, true],
  ["StreamingInputCall", "StreamingInputCallRequest", "StreamingInputCallResponse", true, false],
  ["FullDuplexCall", "StreamingOutputCallRequest", "StreamingOutputCallResponse", true, true],
];

const PACKAGE = "grpc.testing";
export const TEST_SERVICE = `${PACKAGE}.TestService`;

const file = create(FileDescriptorProtoSchema, {
  name: "interop.proto",
  package: PACKAGE,
  syntax: "proto3",
  messageType: Object.entries(MESSAGES).map(([name, fields]) => ({
    name,
    field: fields.map(([name, number, type, label = Label.OPTIONAL]) => ({
      name,
      number,
      label,
      jsonName: name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()),
      ...(typeof type === "string" ? { type: Type.MESSAGE, typeName: `.${PACKAGE}.${type}` } : { type }),
    })),
  })),
  service: [
    {
      name: "TestService",
      method: METHODS.map(([name, input, output, clientStreaming, serverStreaming]) => ({
        name,
        inputType: `.${PACKAGE}.${input}`,
        outputType: `.${PACKAGE}.${output}`,
        clientStreaming,
        serverStreaming,
      })),
    },
  ],
});

export const descriptors = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }));

const registry = createFileRegistry(file, () => undefined);

/** In these tests a message is its JSON form. */
const codec = (name: string) => {
  const type = registry.getMessage(`${PACKAGE}.${name}`) as DescMessage;
  return {
    serialize: (value: JsonObject) => Buffer.from(toBinary(type, fromJson(type, value as JsonValue))),
    deserialize: (bytes: Uint8Array) => toJson(type, fromBinary(type, bytes)) as JsonObject,
  };
};

// biome-ignore lint/suspicious/noExplicitAny: messages are plain JSON objects here.
type Message = any;
type Method<Q extends boolean, S extends boolean> = MethodDefinition<Message, Message> & {
  readonly requestStream: Q;
  readonly responseStream: S;
};

function method<Q extends boolean, S extends boolean>(name: string): Method<Q, S> {
  const [, input, output, requestStream, responseStream] = METHODS.find(([other]) => other === name) as never as [
    string,
    string,
    string,
    Q,
    S,
  ];
  const [request, response] = [codec(input), codec(output)];
  return {
    path: `/${TEST_SERVICE}/${name}`,
    requestStream,
    responseStream,
    requestSerialize: request.serialize,
    requestDeserialize: request.deserialize,
    responseSerialize: response.serialize,
    responseDeserialize: response.deserialize,
  };
}

export const TestService = {
  emptyCall: method<false, false>("EmptyCall"),
  unaryCall: method<false, false>("UnaryCall"),
  streamingOutputCall: method<false, true>("StreamingOutputCall"),
  streamingInputCall: method<true, false>("StreamingInputCall"),
  fullDuplexCall: method<true, true>("FullDuplexCall"),
};

export const payload = (size: number) => ({ body: Buffer.alloc(size).toString("base64") });

export const sizeOfPayload = (message: Message): number => Buffer.from(message.payload?.body ?? "", "base64").length;
