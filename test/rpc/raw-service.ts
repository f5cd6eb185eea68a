/**
 * A service for tests. It has a unary endpoint and one for each kind of stream. Its messages are
 * plain bytes. Its definition and descriptors are written by hand, so tests need no file in proto/.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, StatusError } from "../../src/errors.js";
import type { Channel, Status } from "../../src/rpc/channel.js";
import { part, type Service, type ServiceImplementation } from "../../src/rpc/service.js";

const GRPC_SERVICE = "raw.Raw";

/** Bytes that the service rejects as malformed. */
export const MALFORMED = Buffer.from("malformed");

function read(bytes: Buffer): Buffer {
  if (bytes.equals(MALFORMED)) throw new RangeError("malformed");
  return bytes;
}

const same = (bytes: Buffer): Buffer => bytes;

/** Serialization of methods whose messages are the bytes themselves. */
export const BYTES = {
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};
const serialization = { ...BYTES, requestDeserialize: read, responseDeserialize: read };

export const RawService = {
  one: { path: `/${GRPC_SERVICE}/One`, requestStream: false, responseStream: false, ...serialization },
  download: { path: `/${GRPC_SERVICE}/Download`, requestStream: false, responseStream: true, ...serialization },
  upload: { path: `/${GRPC_SERVICE}/Upload`, requestStream: true, responseStream: false, ...serialization },
  chat: { path: `/${GRPC_SERVICE}/Chat`, requestStream: true, responseStream: true, ...serialization },
} as const;

export type RawImplementation = ServiceImplementation<typeof RawService>;

const missing = (): never => {
  throw new StatusError(Code.UNIMPLEMENTED, "this test has no such endpoint");
};

/** The service with the endpoints of a test. The others end with UNIMPLEMENTED. */
export function rawService(endpoints: Partial<RawImplementation>): Service {
  const implementation = { one: missing, download: missing, upload: missing, chat: missing, ...endpoints };
  return { name: "raw", descriptors, parts: [part(RawService, implementation)] };
}

/** The status of a call to the unary endpoint. */
export function statusOf(channel: Channel, metadata: [string, string][] = []): Promise<Status> {
  return new Promise((resolve) => {
    const start = { path: RawService.one.path, metadata, deadlineMonotonicMs: performance.now() + 60_000 };
    const opened = channel.open(start, { onMessage() {}, onEnd: resolve });
    opened.send(Buffer.from("a"));
    opened.end();
  });
}

const method = (name: string, clientStreaming: boolean, serverStreaming: boolean) => ({
  name,
  inputType: ".raw.Bytes",
  outputType: ".raw.Bytes",
  clientStreaming,
  serverStreaming,
});

const descriptors = toBinary(
  FileDescriptorSetSchema,
  create(FileDescriptorSetSchema, {
    file: [
      {
        name: "raw.proto",
        package: "raw",
        syntax: "proto3",
        messageType: [{ name: "Bytes" }],
        service: [
          {
            name: "Raw",
            method: [
              method("One", false, false),
              method("Download", false, true),
              method("Upload", true, false),
              method("Chat", true, true),
            ],
          },
        ],
      },
    ],
  }),
);
